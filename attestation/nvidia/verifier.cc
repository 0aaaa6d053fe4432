// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/verifier.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/nvidia/chain.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "attestation/nvidia/rules.h"
#include "attestation/nvidia/set.h"
#include "base/hex.h"

namespace caravan::attestation::nvidia {
namespace {

// One device's part of the appraisal, and what the set wants to know of it.
struct Part {
  Appraisal appraisal;
  std::optional<SetMember> member;  // nothing when its class is not known
  std::string chip;
};

void CheckForm(const Report& report, CheckList* checks) {
  checks->Pass("NVIDIA_REPORT_FORM", "the report is well formed",
               absl::StrCat("spdm 1.1, ", report.measurements.size(), " measurements"));
  if (!report.unknown.empty()) {
    checks->Warn("NVIDIA_REPORT_UNKNOWN", "the report has known fields alone",
                 absl::StrCat("not zero: ", absl::StrJoin(report.unknown, ", ")));
  }
  const bool zero = report.trailing.find_first_not_of('\0') == std::string_view::npos;
  checks->Require(zero, "NVIDIA_TRAILER", "nothing but padding follows the report",
                  report.trailing.empty()
                      ? ""
                      : absl::StrCat(report.trailing.size(), " unsigned bytes follow the report",
                                     zero ? ", all zero" : ", not all zero"));
}

void Claim(const DeviceInfo& info, const Chain& chain, CheckList* checks) {
  auto& claims = checks->appraisal().claims;
  const auto claim = [&claims](const char* name, const std::string& value) {
    if (!value.empty()) claims[name] = value;
  };
  claim("chip", chain.chip->name);
  claim("driver_version", info.driver_version);
  claim("vbios_version", info.vbios_version);
  claim("project", info.project);
  claim("project_sku", info.project_sku);
  claim("chip_sku", info.chip_sku);
  claim("ueid", chain.leaf->SerialHex());
  if (info.sys_enable_status.has_value()) {
    claim("sys_enable_status", absl::StrCat("0x", absl::Hex(*info.sys_enable_status)));
  }
  if (chain.chip->device_class == DeviceClass::kGpu) {
    const v1::NvidiaMode mode = ModeOf(info);
    claim("mode", mode == v1::NVIDIA_MODE_UNSPECIFIED ? "unknown" : v1::NvidiaMode_Name(mode));
  }
  claim("links", absl::StrJoin(info.peers, " ", [](std::string* out, const Pdi& pdi) {
          absl::StrAppend(out, base::ToHex(pdi));
        }));
}

Part VerifyDevice(const Device& device, const Endorsements& endorsements, const Policy& policy,
                  absl::Time now) {
  Part part;
  CheckList checks(&part.appraisal);
  const absl::StatusOr<Report> report = ParseReport(device.evidence.report);
  if (!report.ok()) {
    checks.Fail("NVIDIA_REPORT_FORM", "the report is well formed",
                std::string(report.status().message()));
    return part;
  }
  CheckForm(*report, &checks);
  const Chain chain = CheckChain(*report, device.evidence, endorsements, policy, now, &checks);
  part.appraisal.insecure = chain.insecure;
  if (chain.verified) {
    // The device itself issues its leaf: no service has an answer about it.
    CheckChainRevocation("NVIDIA", absl::MakeConstSpan(chain.certificates).subspan(1),
                         chain.insecure, endorsements, policy.nvidia(), now, &checks);
  }
  constexpr std::string_view kSignatureWhat = "the certificate's key signed the report";
  CheckNonce(*report, device.expected, &checks);
  if (!chain.leaf.has_value()) {
    checks.Missing("NVIDIA_SIGNATURE", kSignatureWhat, "there is no certificate to check it with");
    return part;
  }
  checks.Require(chain.signature.ok(), "NVIDIA_SIGNATURE", kSignatureWhat,
                 std::string(chain.signature.message()));
  if (!chain.chip.has_value()) return part;
  const DeviceClass device_class = chain.chip->device_class;
  part.chip = chain.chip->name;
  const absl::StatusOr<DeviceInfo> info = ReadDeviceInfo(device_class, *report);
  if (!info.ok()) {
    checks.Fail("NVIDIA_OPAQUE_FORM",
                absl::StrCat("the opaque data is a ", std::string(Name(device_class)), "'s"),
                std::string(info.status().message()));
    return part;
  }
  Claim(*info, chain, &checks);
  CheckDevice(*info, chain, policy.nvidia(), &checks);
  CheckFwid(*info, chain, policy.nvidia(), &checks);
  CheckMode(device_class, *info, policy.nvidia(), &checks);
  CheckFirmware(*chain.chip, *info, policy.nvidia(), &checks);
  CheckMeasurements(*report, *info, *chain.chip, endorsements, policy, now, &checks);
  part.member = SetMember{.label = {},
                          .device_class = device_class,
                          .key = chain.leaf->SpkiSha256(),
                          .pdi = chain.pdi.has_value() ? chain.pdi : info->own_pdi,
                          .nonce = std::string(report->nonce),
                          .info = *info};
  return part;
}

// Appends `part` to the whole, each check and claim under the device's name.
void Append(const std::string& label, const Part& part, Appraisal* whole) {
  std::string prefix = label;
  std::erase(prefix, ' ');
  for (Check check : part.appraisal.checks) {
    check.what = absl::StrCat(label, ": ", check.what);
    whole->checks.push_back(std::move(check));
  }
  for (const auto& [name, value] : part.appraisal.claims) {
    whole->claims[absl::StrCat(prefix, "_", name)] = value;
  }
  whole->insecure |= part.appraisal.insecure;
}

// "nvidia 8 x GH100, 4 x LS_10", behind what stands there already.
void NamePlatform(const std::map<std::string, size_t>& chips, Appraisal* whole) {
  std::string devices = whole->insecure ? "insecure nvidia" : "nvidia";
  const char* before = " ";
  for (const auto& [chip, count] : chips) {
    absl::StrAppend(&devices, before, count, " x ", chip);
    before = ", ";
  }
  absl::StrAppend(&whole->platform, whole->platform.empty() ? "" : " + ", devices);
}

}  // namespace

DeviceCounts Verify(absl::Span<const Device> devices, const Endorsements& endorsements,
                    const Policy& policy, absl::Time now, CheckList* checks) {
  Appraisal& whole = checks->appraisal();
  if (!policy.has_nvidia()) {
    NamePlatform({}, &whole);
    checks->Fail("NVIDIA_POLICY", "the policy has rules for nvidia",
                 absl::StrCat("policy \"", policy.name(), "\" has none"), "add nvidia { … }");
    return {};
  }
  std::vector<SetMember> members;
  std::map<std::string, size_t> chips, labels;
  bool compared = true;
  for (const Device& device : devices) {
    Part part = VerifyDevice(device, endorsements, policy, now);
    const std::string name =
        part.member.has_value() ? std::string(Name(part.member->device_class)) : "device";
    const std::string label = absl::StrCat(name, " ", labels[name]++);
    Append(label, part, &whole);
    if (!part.chip.empty()) ++chips[part.chip];
    if (part.member.has_value()) {
      part.member->label = label;
      members.push_back(*std::move(part.member));
    }
    if (device.expected.nonce().has_value()) continue;
    compared = false;
    if (device.expected.waived()) checks->CapAtWarning();
  }
  NamePlatform(chips, &whole);
  if (!members.empty()) CheckSet(members, policy.nvidia(), compared, checks);
  return {.gpus = labels[std::string(Name(DeviceClass::kGpu))],
          .switches = labels[std::string(Name(DeviceClass::kSwitch))]};
}

}  // namespace caravan::attestation::nvidia
