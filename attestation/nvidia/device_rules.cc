// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/nvidia/rules.h"
#include "attestation/nvidia/version.h"
#include "base/hex.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation::nvidia {
namespace {

template <typename Values, typename Value>
bool Contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Certificates name the chip, reports of some boards the product that it is built into, GB200 for a
// GB100. Alike is the family, the first two letters.
bool IsOfFamilyOf(const Chip& chip, std::string_view reported) {
  constexpr size_t kFamilySize = 2;
  return reported.size() > kFamilySize &&
         reported.substr(0, kFamilySize) == std::string_view(chip.name).substr(0, kFamilySize);
}

const v1::NvidiaFloor* FloorOf(const Chip& chip, const v1::NvidiaPolicy& policy) {
  for (const v1::NvidiaFloor& floor : policy.floors()) {
    if (floor.chip() == chip.name) return &floor;
  }
  return nullptr;
}

void CheckVersion(const char* id, const char* what, const std::string& have,
                  const std::string& floor, VersionBase base, CheckList* checks) {
  if (have.empty()) {
    checks->Fail(id, what, "the report names no version");
    return;
  }
  const absl::StatusOr<int> order = CompareVersions(have, floor, base);
  if (!order.ok()) {
    checks->Fail(id, what, std::string(order.status().message()));
    return;
  }
  checks->Require(*order >= 0, id, what, absl::StrCat("it is ", have, ", policy wants >= ", floor),
                  "update it, or lower the floor if its holes do not matter to you");
}

std::string ModeName(v1::NvidiaMode mode, const DeviceInfo& info) {
  switch (mode) {
    case v1::NVIDIA_SPT:
      return "single passthrough (SPT)";
    case v1::NVIDIA_MPT:
      return "multi passthrough (MPT)";
    case v1::NVIDIA_PPCIE:
      return "protected PCIe (PPCIE)";
    case v1::NVIDIA_UNSTATED:
      return "a mode that its report does not name";
    default:
      break;
  }
  const std::string pcie = !info.protected_pcie.has_value() ? "not stated"
                           : *info.protected_pcie           ? "on"
                                                            : "off";
  return absl::StrCat("a mode that is not known: feature flag ",
                      info.feature_flag.has_value() ? absl::StrCat(*info.feature_flag) : "absent",
                      ", protected PCIe ", pcie);
}

}  // namespace

void CheckNonce(const Report& report, const DeviceExpectation& expected, CheckList* checks) {
  constexpr std::string_view kWhat = "the nonce is what this verifier expects";
  const absl::Span<const uint8_t> have = crypto::AsBytes(report.nonce);
  checks->appraisal().claims["nonce"] = base::ToHex(have);
  if (!expected.nonce().has_value()) {
    if (!expected.waived()) {
      checks->Missing("NVIDIA_NONCE", kWhat, "nothing says which nonce this device should have");
    } else {
      checks->Skip("NVIDIA_NONCE", kWhat,
                   "not asked for: nothing shows that the evidence is fresh or whose it is");
    }
    return;
  }
  const bool same = crypto::ConstantTimeEquals(have, expected.nonce()->bytes);
  checks->Require(same, "NVIDIA_NONCE", kWhat,
                  same ? ""
                       : absl::StrCat("the nonce is ", base::ToHex(have), ", expected ",
                                      base::ToHex(expected.nonce()->bytes)),
                  "the evidence is replayed, or was made for another verifier, channel or device");
}

void CheckFwid(const DeviceInfo& info, const Chain& chain, const v1::NvidiaPolicy& policy,
               CheckList* checks) {
  constexpr std::string_view kWhat = "the firmware that signed is the certificate's";
  const absl::StatusOr<std::string> certified = CertifiedFwid(*chain.leaf);
  if (!certified.ok()) {
    checks->Fail("NVIDIA_FWID", kWhat, std::string(certified.status().message()));
    return;
  }
  checks->appraisal().claims["fwid"] = base::ToHex(crypto::AsBytes(*certified));
  if (!info.fwid.has_value()) {
    if (policy.allow_missing_fwid()) {
      checks->Skip("NVIDIA_FWID", kWhat, "the report names none, which the policy allows");
    } else {
      checks->Fail("NVIDIA_FWID", kWhat, "the report does not say which firmware signed it",
                   "set nvidia.allow_missing_fwid for drivers and switches that report none");
    }
    return;
  }
  const bool same = *info.fwid == *certified;
  checks->Require(
      same, "NVIDIA_FWID", kWhat,
      same ? ""
           : absl::StrCat("the report's is ", base::ToHex(crypto::AsBytes(*info.fwid)),
                          ", the certificate's ", base::ToHex(crypto::AsBytes(*certified))));
}

void CheckDevice(const DeviceInfo& info, const Chain& chain, const v1::NvidiaPolicy& policy,
                 CheckList* checks) {
  constexpr std::string_view kClassWhat = "the report is of its certificates' class of device";
  const bool gpu = chain.chip->device_class == DeviceClass::kGpu;
  // A switch names itself and no driver; a GPU the reverse.
  const bool fits = gpu ? !info.driver_version.empty() : info.own_pdi.has_value();
  checks->Require(fits, "NVIDIA_CLASS", kClassWhat,
                  fits  ? std::string(Name(chain.chip->device_class))
                  : gpu ? "the certificates are a gpu's, the report names no driver"
                        : "the certificates are a switch's, the report names no device pdi");
  if (info.own_pdi.has_value() && chain.pdi.has_value()) {
    checks->Require(*info.own_pdi == *chain.pdi, "NVIDIA_PDI",
                    "the report's device is the certificates'",
                    absl::StrCat("the report is of ", base::ToHex(*info.own_pdi),
                                 ", the certificates of ", base::ToHex(*chain.pdi)));
  }
  // It names the manifests to compare with.
  if (!info.chip_info.empty()) {
    checks->Require(IsOfFamilyOf(*chain.chip, info.chip_info), "NVIDIA_CHIP_INFO",
                    "the report's chip is of its certificates' family",
                    absl::StrCat("the report is of a ", info.chip_info, ", the certificates of a ",
                                 chain.chip->name));
  }
  constexpr std::string_view kListWhat = "the policy lists this device";
  const std::optional<Pdi> pdi = chain.pdi.has_value() ? chain.pdi : info.own_pdi;
  if (pdi.has_value()) checks->appraisal().claims["pdi"] = base::ToHex(*pdi);
  if (policy.any_device()) {
    checks->Skip("NVIDIA_DEVICE", kListWhat, "the policy takes any genuine device");
  } else if (!pdi.has_value() && !chain.verified) {
    checks->Missing("NVIDIA_DEVICE", kListWhat, "without its chain nothing names the device");
  } else if (!pdi.has_value()) {
    checks->Fail("NVIDIA_DEVICE", kListWhat,
                 "neither report nor certificates name a pdi, the policy wants a listed one");
  } else {
    const bool listed = Contains(policy.pdis(), base::ToHex(*pdi));
    checks->Require(listed, "NVIDIA_DEVICE", kListWhat,
                    listed ? "" : absl::StrCat("pdi ", base::ToHex(*pdi), " is not in nvidia.pdis"),
                    "add it, if the device is one of yours");
  }
}

v1::NvidiaMode ModeOf(const DeviceInfo& info) {
  const bool said = info.protected_pcie.has_value();
  const bool pcie = info.protected_pcie.value_or(false);
  if (!info.feature_flag.has_value()) return pcie ? v1::NVIDIA_PPCIE : v1::NVIDIA_UNSTATED;
  switch (static_cast<Feature>(*info.feature_flag)) {
    case Feature::kSinglePassthrough:
      return pcie ? v1::NVIDIA_MODE_UNSPECIFIED : v1::NVIDIA_SPT;
    case Feature::kMultiPassthrough:
      return pcie ? v1::NVIDIA_MODE_UNSPECIFIED : v1::NVIDIA_MPT;
    case Feature::kProtectedPcie:
      return said && !pcie ? v1::NVIDIA_MODE_UNSPECIFIED : v1::NVIDIA_PPCIE;
  }
  return v1::NVIDIA_MODE_UNSPECIFIED;
}

void CheckMode(DeviceClass device_class, const DeviceInfo& info, const v1::NvidiaPolicy& policy,
               CheckList* checks) {
  if (device_class == DeviceClass::kSwitch) {
    constexpr std::string_view kWhat = "the switch is locked";
    const bool locked = info.locked.value_or(false);
    if (!locked && policy.allow_unlocked_switches()) {
      checks->Skip("NVIDIA_SWITCH_LOCK", kWhat, "it is not, which the policy allows");
      return;
    }
    checks->Require(locked, "NVIDIA_SWITCH_LOCK", kWhat,
                    locked                    ? ""
                    : info.locked.has_value() ? "it is not: its host can still change its routes"
                                              : "its report does not say so",
                    "set nvidia.allow_unlocked_switches where that does not matter");
    return;
  }
  const v1::NvidiaMode mode = ModeOf(info);
  const bool accepted =
      mode != v1::NVIDIA_MODE_UNSPECIFIED && Contains(policy.modes(), static_cast<int>(mode));
  checks->Require(accepted, "NVIDIA_MODE", "the gpu runs in a mode that the policy takes",
                  absl::StrCat("it is in ", ModeName(mode, info),
                               accepted ? "" : ", which nvidia.modes does not list"));
}

void CheckFirmware(const Chip& chip, const DeviceInfo& info, const v1::NvidiaPolicy& policy,
                   CheckList* checks) {
  constexpr char kDriverWhat[] = "the driver is at or above the policy's floor";
  constexpr char kVbiosWhat[] = "the vbios is at or above the policy's floor";
  const bool gpu = chip.device_class == DeviceClass::kGpu;
  if (policy.any_firmware()) {
    if (gpu) checks->Skip("NVIDIA_DRIVER", kDriverWhat, "the policy takes any firmware");
    checks->Skip("NVIDIA_VBIOS", kVbiosWhat, "the policy takes any firmware");
    return;
  }
  const v1::NvidiaFloor* floor = FloorOf(chip, policy);
  if (floor == nullptr) {
    checks->Fail("NVIDIA_VBIOS", kVbiosWhat, absl::StrCat("nvidia.floors has none for ", chip.name),
                 "add one, if the policy is to take such devices");
    return;
  }
  if (gpu) {
    CheckVersion("NVIDIA_DRIVER", kDriverWhat, info.driver_version, floor->driver(),
                 VersionBase::kDecimal, checks);
  }
  CheckVersion("NVIDIA_VBIOS", kVbiosWhat, info.vbios_version, floor->vbios(),
               VersionBase::kHexadecimal, checks);
}

}  // namespace caravan::attestation::nvidia
