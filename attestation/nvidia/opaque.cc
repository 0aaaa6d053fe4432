// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/opaque.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr uint8_t kEnabled = 0xAA;
constexpr uint8_t kDisabled = 0x55;
constexpr uint64_t kLocked = 1;
constexpr size_t kMaxTextSize = 64;
constexpr size_t kGpuVbiosSize = 8;
constexpr size_t kMaxLinks = 64;
constexpr size_t kSwitchGpus = 8;

// Finds and decodes fields. The first failure stays in `status`.
class Fields {
 public:
  Fields(const Report& report, absl::Status* status) : report_(report), status_(*status) {}

  std::optional<std::string_view> Find(OpaqueType type, const char* name) {
    std::optional<std::string_view> found;
    for (const OpaqueField& field : report_.opaque) {
      if (field.type != type) continue;
      if (found.has_value()) Fail(name, "stands twice");
      found = field.value;
    }
    return found;
  }

  // Text of ASCII, padded with zeros.
  std::string Text(OpaqueType type, const char* name) {
    std::string_view value = Find(type, name).value_or("");
    if (value.size() > kMaxTextSize) {
      Fail(name, absl::StrCat("has ", value.size(), " bytes, at most ", kMaxTextSize));
      return "";
    }
    while (!value.empty() && value.back() == '\0') value.remove_suffix(1);
    if (!std::all_of(value.begin(), value.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); })) {
      Fail(name, "is no plain text");
      return "";
    }
    return std::string(value);
  }

  // A little-endian number of 1 to 8 bytes.
  std::optional<uint64_t> Number(OpaqueType type, const char* name) {
    const std::optional<std::string_view> value = Find(type, name);
    if (!value.has_value()) return std::nullopt;
    if (value->empty() || value->size() > sizeof(uint64_t)) {
      Fail(name, absl::StrCat("has ", value->size(), " bytes, expected 1 to 8"));
      return std::nullopt;
    }
    uint64_t number = 0;
    for (size_t i = value->size(); i-- > 0;) number = number << 8 | Byte(*value, i);
    return number;
  }

  std::optional<bool> Switch(OpaqueType type, const char* name) {
    const std::optional<std::string_view> value = Find(type, name);
    if (!value.has_value()) return std::nullopt;
    if (value->size() == 1 && Byte(*value, 0) == kEnabled) return true;
    if (value->size() == 1 && Byte(*value, 0) == kDisabled) return false;
    Fail(name, "is neither enabled (0xaa) nor disabled (0x55)");
    return std::nullopt;
  }

  std::optional<std::string_view> Sized(OpaqueType type, const char* name, size_t size) {
    const std::optional<std::string_view> value = Find(type, name);
    if (value.has_value() && value->size() != size) {
      Fail(name, absl::StrCat("has ", value->size(), " bytes, expected ", size));
      return std::nullopt;
    }
    return value;
  }

  void Fail(const char* name, std::string_view problem) {
    if (!status_.ok()) return;
    status_ =
        absl::InvalidArgumentError(absl::StrCat("opaque data: ", name, " ", std::string(problem)));
  }

  static uint8_t Byte(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

 private:
  const Report& report_;
  absl::Status& status_;
};

Pdi PdiAt(std::string_view bytes, size_t at) {
  Pdi pdi;
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), kPdiSize, pdi.begin());
  return pdi;
}

bool IsZero(const Pdi& pdi) { return pdi == Pdi{}; }

// Four bytes of version, little endian, then a fifth: 00 9f 00 96 01 is 96.00.9F.00.01.
std::string GpuVbios(Fields& fields) {
  const auto value = fields.Sized(kVbiosVersion, "vbios version", kGpuVbiosSize);
  if (!value.has_value()) return "";
  return absl::StrFormat("%02X.%02X.%02X.%02X.%02X", Fields::Byte(*value, 3),
                         Fields::Byte(*value, 2), Fields::Byte(*value, 1), Fields::Byte(*value, 0),
                         Fields::Byte(*value, 4));
}

void ReadGpuLinks(Fields& fields, DeviceInfo* info) {
  const std::string_view value = fields.Find(kPdis, "switch pdis").value_or("");
  if (value.size() % kPdiSize != 0 || value.size() > kMaxLinks * kPdiSize) {
    fields.Fail("switch pdis", absl::StrCat("have ", value.size(), " bytes, expected ", kPdiSize,
                                            " for each of at most ", kMaxLinks, " links"));
    return;
  }
  for (size_t at = 0; at < value.size(); at += kPdiSize) {
    Pdi pdi = PdiAt(value, at);
    std::reverse(pdi.begin(), pdi.end());
    // A link that is off has no switch behind it.
    if (!IsZero(pdi)) info->peers.insert(pdi);
  }
}

void ReadSwitchLinks(Fields& fields, DeviceInfo* info) {
  if (const auto own = fields.Sized(kPdis, "device pdi", kPdiSize); own.has_value()) {
    info->own_pdi = PdiAt(*own, 0);
  }
  const std::optional<std::string_view> gpus = fields.Find(kSwitchGpuPdis, "gpu pdis");
  if (!gpus.has_value()) return;
  if (gpus->size() < kSwitchGpus * kPdiSize) {
    fields.Fail("gpu pdis", absl::StrCat("have ", gpus->size(), " bytes, expected ",
                                         kSwitchGpus * kPdiSize, " and a port map"));
    return;
  }
  for (size_t i = 0; i < kSwitchGpus; ++i) {
    const Pdi pdi = PdiAt(*gpus, i * kPdiSize);
    if (!IsZero(pdi)) info->peers.insert(pdi);
  }
}

}  // namespace

std::string_view Name(DeviceClass device_class) {
  return device_class == DeviceClass::kGpu ? "gpu" : "switch";
}

absl::StatusOr<DeviceInfo> ReadDeviceInfo(DeviceClass device_class, const Report& report) {
  absl::Status status;
  Fields fields(report, &status);
  DeviceInfo info;
  if (device_class == DeviceClass::kGpu) {
    info.vbios_version = GpuVbios(fields);
    info.driver_version = fields.Text(kDriverVersion, "driver version");
    info.nvdec0_enabled = fields.Switch(kNvdec0Status, "nvdec0 status");
    info.protected_pcie = fields.Switch(kProtectedPcieStatus, "protected pcie status");
    info.feature_flag = fields.Number(kFeatureFlag, "feature flag");
    info.sys_enable_status = fields.Number(kSysEnableStatus, "sys enable status");
    info.version = fields.Number(kOpaqueDataVersion, "opaque data version");
    info.chip_info = fields.Text(kChipInfo, "chip info");
    ReadGpuLinks(fields, &info);
  } else {
    info.vbios_version = fields.Text(kVbiosVersion, "vbios version");
    if (const auto lock = fields.Number(kLockSwitchStatus, "lock status"); lock.has_value()) {
      info.locked = *lock == kLocked;
    }
    ReadSwitchLinks(fields, &info);
  }
  info.project = fields.Text(kProject, "project");
  info.project_sku = fields.Text(kProjectSku, "project sku");
  info.chip_sku = fields.Text(kChipSku, "chip sku");
  info.fwid = fields.Sized(kFwid, "fwid", kDigestSize);
  if (!status.ok()) return status;
  return info;
}

}  // namespace caravan::attestation::nvidia
