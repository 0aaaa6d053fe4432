// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim_id.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr size_t kMaxPart = 32;

absl::Status CheckParts(std::initializer_list<std::pair<const char*, std::string_view>> parts) {
  for (const auto& [name, part] : parts) {
    const bool plain = std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return absl::ascii_isalnum(c) || c == '.' || c == '-';
    });
    if (plain && !part.empty() && part.size() <= kMaxPart) continue;
    return absl::InvalidArgumentError(absl::StrCat("the report's ", name,
                                                   " is no part of a manifest's name: 1 to ",
                                                   kMaxPart, " letters, digits, '.' or '-'"));
  }
  return absl::OkStatus();
}

std::string Upper(std::string_view text) { return absl::AsciiStrToUpper(std::string(text)); }

std::string Undotted(std::string_view version) {
  return absl::StrReplaceAll(Upper(version), {{".", ""}});
}

}  // namespace

absl::StatusOr<std::string> DriverRimId(std::string_view chip, std::string_view driver_version) {
  if (auto status = CheckParts({{"chip", chip}, {"driver version", driver_version}});
      !status.ok()) {
    return status;
  }
  const std::string name = Upper(chip);
  return absl::StrCat(name == "GH100" ? "NV_GPU_DRIVER_" : "NV_GPU_CC_DRIVER_", name, "_",
                      std::string(driver_version));
}

absl::StatusOr<std::string> VbiosRimId(std::string_view project, std::string_view project_sku,
                                       std::string_view chip_sku, std::string_view vbios_version) {
  if (auto status = CheckParts({{"project", project},
                                {"project sku", project_sku},
                                {"chip sku", chip_sku},
                                {"vbios version", vbios_version}});
      !status.ok()) {
    return status;
  }
  return absl::StrCat("NV_GPU_VBIOS_", Upper(project), "_", Upper(project_sku), "_",
                      Upper(chip_sku), "_", Undotted(vbios_version));
}

absl::StatusOr<std::string> SwitchRimId(std::string_view vbios_version) {
  if (auto status = CheckParts({{"vbios version", vbios_version}}); !status.ok()) return status;
  return absl::StrCat("NV_SWITCH_BIOS_5612_0002_890_", Undotted(vbios_version));
}

}  // namespace caravan::attestation::nvidia
