// SPDX-License-Identifier: Apache-2.0
//
// What a device says about itself in the opaque data of its report. Types 1 to 26 as NVIDIA/nvtrust
// names them, 27 and 32 to 36 as NVIDIA/attestation-sdk does; the same type means other things in a
// GPU's report and in a switch's. Types without a name here are left alone.
#ifndef CARAVAN_ATTESTATION_NVIDIA_OPAQUE_H_
#define CARAVAN_ATTESTATION_NVIDIA_OPAQUE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/nvidia/report.h"

namespace caravan::attestation::nvidia {

enum class DeviceClass { kGpu, kSwitch };

std::string_view Name(DeviceClass device_class);  // "gpu", "switch"

enum OpaqueType : uint16_t {
  kDriverVersion = 3,
  kVbiosVersion = 6,
  kNvdec0Status = 11,
  kChipSku = 15,
  kProject = 17,
  kProjectSku = 18,
  kFwid = 20,
  kProtectedPcieStatus = 21,
  kPdis = 22,  // GPU: of the switch behind each NVLink; switch: its own
  kLockSwitchStatus = 25,
  kSwitchGpuPdis = 26,  // switch: of the GPUs, then a port map
  kSysEnableStatus = 33,
  kOpaqueDataVersion = 34,
  kChipInfo = 35,
  kFeatureFlag = 36,
};

// Per-device identifier, in the byte order in which certificates print it.
inline constexpr size_t kPdiSize = 8;
using Pdi = std::array<uint8_t, kPdiSize>;

// FEATURE_FLAG: how the GPUs of a machine are shared out.
enum class Feature : uint64_t {
  kSinglePassthrough = 0,  // SPT
  kMultiPassthrough = 1,   // MPT
  kProtectedPcie = 2,      // PPCIE
};

// Versions and names are printable ASCII without blanks; empty when the report has none.
struct DeviceInfo {
  std::string vbios_version;   // "96.00.9F.00.01"
  std::string driver_version;  // "550.90.07"; GPUs alone
  std::string project, project_sku, chip_sku, chip_info;
  std::optional<std::string_view> fwid;  // kDigestSize bytes
  std::optional<bool> nvdec0_enabled;
  std::optional<bool> protected_pcie;
  std::optional<uint64_t> feature_flag;  // a Feature, or a value without a meaning yet
  std::optional<uint64_t> sys_enable_status;
  std::optional<uint64_t> version;  // of the opaque data
  std::optional<Pdi> own_pdi;       // switches
  std::optional<bool> locked;       // switches
  std::set<Pdi> peers;              // GPU: the switches it is linked to; switch: the GPUs
};

// InvalidArgument naming the field when one that is read has another form than this class of
// device gives it, or stands twice.
absl::StatusOr<DeviceInfo> ReadDeviceInfo(DeviceClass device_class, const Report& report);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_OPAQUE_H_
