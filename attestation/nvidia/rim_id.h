// SPDX-License-Identifier: Apache-2.0
//
// The names under which NVIDIA's RIM service keeps manifests, from what a report says about its
// device. They go into URLs and file names, so whatever else a report says is refused.
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_ID_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_ID_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace caravan::attestation::nvidia {

// All take texts without their trailing NULs. InvalidArgument naming the part that is empty, over
// 32 characters, or has others than letters, digits, '.' and '-'.

// "NV_GPU_DRIVER_GH100_545.00"; of other chips than Hopper's "NV_GPU_CC_DRIVER_GB100_575.32".
absl::StatusOr<std::string> DriverRimId(std::string_view chip, std::string_view driver_version);

// "NV_GPU_VBIOS_1010_0200_882_96005E0001" from "1010", "0200", "882", "96.00.5E.00.01".
absl::StatusOr<std::string> VbiosRimId(std::string_view project, std::string_view project_sku,
                                       std::string_view chip_sku, std::string_view vbios_version);

// "NV_SWITCH_BIOS_5612_0002_890_9610550001" from "96.10.55.00.01": LS10's reports name no project.
absl::StatusOr<std::string> SwitchRimId(std::string_view vbios_version);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_ID_H_
