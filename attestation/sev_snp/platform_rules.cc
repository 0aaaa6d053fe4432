// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/sev_snp/rules.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::sev_snp {
namespace {

template <typename Values, typename Value>
bool Contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool IsZero(absl::Span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

void CheckSigningKey(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
                     CheckList* checks) {
  checks->Require(
      !report.mask_chip_key, "SNP_MASK_CHIP_KEY", "the firmware signs reports",
      report.mask_chip_key ? "MASK_CHIP_KEY is set: such a report carries no signature" : "");
  const bool vlek = leaf.kind == SigningKey::kVlek;
  const bool matches = report.signing_key == static_cast<uint8_t>(leaf.kind);
  checks->Require(matches, "SNP_SIGNING_KEY", "the certificate is of the kind that signed",
                  matches ? ""
                          : absl::StrCat("SIGNING_KEY is ", static_cast<int>(report.signing_key),
                                         " (0 VCEK, 1 VLEK, 7 none), the certificate is a ",
                                         vlek ? "VLEK" : "VCEK"));
  if (!vlek) return;
  if (!checks->Require(
          policy.allow_vlek(), "SNP_VLEK", "the policy takes loaded keys",
          policy.allow_vlek() ? "" : "a VLEK signed the report, the policy takes VCEKs alone",
          "set snp.allow_vlek where the cloud hides its chips on purpose")) {
    return;
  }
  const bool listed = policy.vlek_csp_ids().empty() || Contains(policy.vlek_csp_ids(), leaf.csp_id);
  checks->Require(listed, "SNP_CSP", "the policy takes this provider",
                  absl::StrCat("the provider is \"", absl::CHexEscape(leaf.csp_id), "\"",
                               listed ? "" : ", which snp.vlek_csp_ids does not list"));
}

// Ties the report to the chip that the certificate was made for.
void CheckChipId(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
                 CheckList* checks) {
  constexpr std::string_view kWhat = "the report's chip is the certificate's";
  if (leaf.kind == SigningKey::kVlek) {
    checks->Pass("SNP_CHIP_ID", kWhat, "a VLEK names no chip");
    return;
  }
  if (IsZero(report.chip_id)) {
    if (policy.allow_masked_chip_id()) {
      checks->Skip("SNP_CHIP_ID", kWhat, "CHIP_ID is masked, which the policy allows");
    } else {
      checks->Fail("SNP_CHIP_ID", kWhat, "CHIP_ID is zero though a VCEK signed",
                   "set snp.allow_masked_chip_id if the host masks chip ids on purpose");
    }
    return;
  }
  std::string wanted = leaf.hwid;
  wanted.resize(report.chip_id.size(), '\0');
  const bool same =
      std::equal(report.chip_id.begin(), report.chip_id.end(), crypto::AsBytes(wanted).begin());
  checks->Require(
      same, "SNP_CHIP_ID", kWhat,
      same ? ""
           : absl::StrCat("CHIP_ID is ", base::ToHex(report.chip_id), ", the certificate's HWID ",
                          base::ToHex(crypto::AsBytes(leaf.hwid))));
}

void CheckAllowlist(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
                    CheckList* checks) {
  constexpr std::string_view kWhat = "the policy lists this machine";
  // The certificate's HWID names the chip whatever the host masks; a VLEK leaves the report alone.
  std::string chip = base::ToHex(crypto::AsBytes(leaf.hwid));
  if (leaf.kind == SigningKey::kVlek && !IsZero(report.chip_id)) chip = base::ToHex(report.chip_id);
  if (!chip.empty()) checks->appraisal().claims["chip_id"] = chip;
  if (policy.any_platform()) {
    checks->Skip("SNP_PLATFORM", kWhat, "the policy takes any genuine machine");
    return;
  }
  if (chip.empty()) {
    checks->Fail("SNP_PLATFORM", kWhat, "the report names no chip, the policy wants a listed one",
                 "with VLEK and masked ids only snp.any_platform can pass");
    return;
  }
  const bool listed = Contains(policy.chip_ids(), chip);
  checks->Require(listed, "SNP_PLATFORM", kWhat,
                  listed ? "" : absl::StrCat("chip ", chip, " is not in snp.chip_ids"),
                  "add it, if the machine is one of yours");
}

}  // namespace

void CheckPlatform(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
                   CheckList* checks) {
  CheckSigningKey(report, leaf, policy, checks);
  CheckChipId(report, leaf, policy, checks);
  CheckAllowlist(report, leaf, policy, checks);
  if (policy.products().empty()) return;
  const bool listed = Contains(policy.products(), static_cast<int>(leaf.product));
  checks->Require(listed, "SNP_PRODUCT_LIST", "the policy takes this product",
                  absl::StrCat(leaf.product_name, listed ? "" : " is not in snp.products"));
}

}  // namespace caravan::attestation::sev_snp
