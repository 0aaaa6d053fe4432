// SPDX-License-Identifier: Apache-2.0
//
// The verifier of NVIDIA's GPUs and NVSwitches: report, chain, nonce, mode, firmware and
// measurements of each, then the set. Each finding is a check that names its device.
#ifndef CARAVAN_ATTESTATION_NVIDIA_VERIFIER_H_
#define CARAVAN_ATTESTATION_NVIDIA_VERIFIER_H_

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::nvidia {

struct Device {
  const Evidence& evidence;  // kNvidia
  DeviceExpectation expected;
};

// Counts the devices whose class a certificate names, whatever became of their checks.
struct DeviceCounts {
  size_t gpus = 0, switches = 0;
};

// Appends the checks of all devices and of their set, and their claims ("gpu0_pdi"); the caller
// concludes the verdict. `policy` has passed ValidatePolicy. Views `devices` while it runs.
DeviceCounts Verify(absl::Span<const Device> devices, const Endorsements& endorsements,
                    const Policy& policy, absl::Time now, CheckList* checks);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_VERIFIER_H_
