// SPDX-License-Identifier: Apache-2.0
//
// A CPU's evidence and that of the devices beside it as one set: the CPU's first, then each device
// in turn, with a nonce that binds it to the CPU's evidence, its place and the size of the set
// (docs/protocol.md). Nothing may be absent, added, moved or taken from another set.
#ifndef CARAVAN_ATTESTATION_COMPOSITE_H_
#define CARAVAN_ATTESTATION_COMPOSITE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attestation/attester.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"
#include "crypto/hash.h"

namespace caravan::attestation {

inline constexpr size_t kMaxDevices = 32;  // beside one CPU

// A device, and no CPU or what stands for one.
inline bool IsDevice(const Evidence& item) { return item.kind == EvidenceKind::kNvidia; }

// SHA-256 of the encoded set that holds `cpu` alone: report, certificates and kind.
crypto::Sha256Digest CpuEvidenceDigest(const Evidence& cpu);

// What is expected of device `index` of the devices in `set`.
DeviceExpectation ExpectedOfDevice(const EvidenceSet& set, uint32_t index,
                                   const ReportDataExpectation& expected);

// The set's shape: one CPU at most, in front of all devices; for a session there has to be one.
// False when a check failed.
bool CheckShape(const EvidenceSet& set, const ReportDataExpectation& expected, CheckList* checks);

// The policy's rules on the whole; nothing where `set` holds no CPU. Until a device has a session
// of its own with the daemon, its evidence shows that it is genuine and fresh, not that it is this
// machine's: GPU_NOT_ATTACHED fails, and warns where the policy allows insecure evidence.
struct DeviceCount {
  size_t gpus = 0, switches = 0;
};
void CheckComposite(const EvidenceSet& set, DeviceCount count, const Policy& policy,
                    CheckList* checks);

// Evidence of `cpu` and all `devices` for each session. Collect() without a session is
// FailedPrecondition: there is nothing to bind a device to. Errors as theirs; Internal when a set
// has over kMaxDevices or its CPU part is not one piece of evidence.
std::unique_ptr<Attester> MakeCompositeAttester(std::unique_ptr<Attester> cpu,
                                                std::unique_ptr<DeviceAttester> devices);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COMPOSITE_H_
