// SPDX-License-Identifier: Apache-2.0
//
// GPUs and NVSwitches that need no hardware: real-format measurement reports by chains under the
// cluster's insecure root, whose key NVIDIA's stand-in shares with AMD's. Their measurements are
// arbitrary, and there are no reference values for them.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_DEVICES_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_DEVICES_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attestation/insecure_software/insecure_root.h"

namespace caravan::attestation {

inline constexpr size_t kMaxInsecureDevices = 16;  // of each class

struct InsecureDevicesOptions {
  std::string node_name;  // devices of two nodes differ
  size_t gpus = 1;        // Hopper; in single passthrough, or with switches in protected PCIe
  size_t switches = 0;    // LS10, linked to every GPU
};

// GPUs first. Issues a chain for each device and keeps its key in memory. InvalidArgument without a
// GPU or with more than kMaxInsecureDevices of a class; Internal when OpenSSL fails.
absl::StatusOr<std::unique_ptr<DeviceAttester>> MakeInsecureDevices(
    const InsecureRoot& root, const InsecureDevicesOptions& options, absl::Time now);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_DEVICES_H_
