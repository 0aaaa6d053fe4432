// SPDX-License-Identifier: Apache-2.0
//
// What a policy asks of one device whose report is signed.
#ifndef CARAVAN_ATTESTATION_NVIDIA_RULES_H_
#define CARAVAN_ATTESTATION_NVIDIA_RULES_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/nvidia/chain.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "attestation/policy/policy.h"
#include "attestation/x509.h"

namespace caravan::attestation::nvidia {

// All 32 bytes, in constant time.
void CheckNonce(const Report& report, const DeviceExpectation& expected, CheckList* checks);
// The firmware that the report names is the one that the leaf was issued to.
void CheckFwid(const DeviceInfo& info, const Chain& chain, const v1::NvidiaPolicy& policy,
               CheckList* checks);
// The report is of the class and of the device that its certificates are for; the policy's list.
void CheckDevice(const DeviceInfo& info, const Chain& chain, const v1::NvidiaPolicy& policy,
                 CheckList* checks);
// How a GPU runs; whether a switch is locked.
void CheckMode(DeviceClass device_class, const DeviceInfo& info, const v1::NvidiaPolicy& policy,
               CheckList* checks);
// Driver and VBIOS against the floor of the chip.
void CheckFirmware(const Chip& chip, const DeviceInfo& info, const v1::NvidiaPolicy& policy,
                   CheckList* checks);

// OCSP's answers about `chain`, each certificate by the next; the last is not asked about.
void CheckChainRevocation(const std::string& id, absl::Span<const Certificate> chain, bool insecure,
                          const Endorsements& endorsements, const v1::NvidiaPolicy& policy,
                          absl::Time now, CheckList* checks);
// Measurements against the manifests of the device's firmware (golden.h).
void CheckMeasurements(const Report& report, const DeviceInfo& info, const Chip& chip,
                       const Endorsements& endorsements, const Policy& policy, absl::Time now,
                       CheckList* checks);

// The mode that a GPU's report names, NVIDIA_UNSTATED when it names none, NVIDIA_MODE_UNSPECIFIED
// when what it says has no meaning here or contradicts itself.
v1::NvidiaMode ModeOf(const DeviceInfo& info);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RULES_H_
