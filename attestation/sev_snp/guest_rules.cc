// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "attestation/sev_snp/rules.h"
#include "base/hex.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr uint8_t kAllOnes = 0xFF;

template <size_t kSize>
bool IsAll(const std::array<uint8_t, kSize>& bytes, uint8_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](uint8_t byte) { return byte == value; });
}

void CheckLooseBits(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  const struct {
    PolicyBit bit;
    bool allowed;
    const char* id;
    const char* what;
    const char* detail;
    const char* field;
  } rules[] = {
      {kDebug, policy.allow_debug(), "SNP_DEBUG", "debug is off",
       "the guest is debuggable: the host can read its memory", "allow_debug"},
      {kMigrateMa, policy.allow_migration_agent(), "SNP_MIGRATE_MA", "no migration agent",
       "a migration agent may export the guest", "allow_migration_agent"},
      {kSmtAllowed, policy.allow_smt(), "SNP_SMT", "no core is shared with another thread",
       "the guest may run with SMT", "allow_smt"},
      {kCxlAllow, policy.allow_cxl(), "SNP_CXL", "no CXL memory", "the guest may use CXL memory",
       "allow_cxl"},
  };
  for (const auto& rule : rules) {
    const bool set = report.Has(rule.bit);
    if (set && rule.allowed) {
      checks->Skip(rule.id, rule.what, absl::StrCat(rule.detail, "; the policy allows it"));
    } else {
      checks->Require(!set, rule.id, rule.what, set ? rule.detail : "",
                      absl::StrCat("only snp.", rule.field, " lets it pass"));
    }
  }
  const bool agent = !IsAll(report.report_id_ma, kAllOnes) && !IsAll(report.report_id_ma, 0);
  if (agent && !policy.allow_migration_agent()) {
    checks->Fail("SNP_REPORT_ID_MA", "no migration agent is bound to the guest",
                 absl::StrCat("REPORT_ID_MA is ", base::ToHex(report.report_id_ma)));
  }
}

void CheckStrictBits(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  const struct {
    PolicyBit bit;
    bool required;
    const char* id;
    const char* what;
  } rules[] = {
      {kSingleSocket, policy.require_single_socket(), "SNP_SINGLE_SOCKET",
       "the guest keeps to a single socket"},
      {kMemAes256Xts, policy.require_aes_256_xts(), "SNP_AES_256_XTS",
       "the guest asks for AES-256-XTS"},
      {kRaplDis, policy.require_rapl_disabled(), "SNP_RAPL", "the guest disables RAPL"},
      {kCiphertextHiding, policy.require_ciphertext_hiding(), "SNP_CIPHERTEXT_HIDING",
       "the guest asks for ciphertext hiding"},
      {kPageSwapDisable, policy.require_page_swap_disabled(), "SNP_PAGE_SWAP",
       "the guest disables page swap"},
  };
  for (const auto& rule : rules) {
    if (!rule.required) continue;
    const bool set = report.Has(rule.bit);
    checks->Require(
        set, rule.id, rule.what,
        set ? ""
            : absl::StrCat("bit ", static_cast<int>(rule.bit), " of the guest's policy is clear"));
  }
}

void CheckPolicyForm(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  checks->Require(report.Has(kMustBeOne), "SNP_POLICY_FORM", "the guest's policy is well formed",
                  report.Has(kMustBeOne) ? "" : "bit 17, which has to be 1, is 0");
  if (const uint64_t unknown = report.policy & ~kKnownPolicyBits; unknown != 0) {
    checks->Warn("SNP_POLICY_UNKNOWN", "the guest's policy has known bits alone",
                 absl::StrFormat("unknown bits 0x%x are set", unknown));
  }
  const auto abi = std::make_pair(uint32_t{report.abi_major()}, uint32_t{report.abi_minor()});
  const auto want = std::make_pair(policy.min_abi_major(), policy.min_abi_minor());
  checks->Require(abi >= want, "SNP_ABI", "the guest asks for a recent ABI",
                  absl::StrCat("ABI ", abi.first, ".", abi.second, ", policy wants >= ", want.first,
                               ".", want.second));
}

void CheckPlatformInfo(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  const auto has = [&](int bit) { return (report.platform_info >> (bit - 1) & 1) != 0; };
  std::vector<std::string> absent, forbidden;
  for (int bit : policy.required_platform_info()) {
    if (!has(bit)) absent.push_back(v1::SnpPlatformBit_Name(static_cast<v1::SnpPlatformBit>(bit)));
  }
  for (int bit : policy.forbidden_platform_info()) {
    if (has(bit)) {
      forbidden.push_back(v1::SnpPlatformBit_Name(static_cast<v1::SnpPlatformBit>(bit)));
    }
  }
  std::string detail;
  if (!absent.empty()) detail = absl::StrCat("lacks ", absl::StrJoin(absent, ", "));
  if (!forbidden.empty()) {
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", "has the forbidden ",
                    absl::StrJoin(forbidden, ", "));
  }
  checks->Require(detail.empty(), "SNP_PLATFORM_INFO", "the platform is set up as the policy asks",
                  detail);
  constexpr std::string_view kAliasWhat = "memory has no aliases (BadRAM)";
  const bool complete = has(v1::ALIAS_CHECK_COMPLETE);
  if (!complete && policy.allow_incomplete_alias_check()) {
    checks->Skip("SNP_ALIAS_CHECK", kAliasWhat,
                 "ALIAS_CHECK_COMPLETE is clear, which the policy allows");
  } else {
    checks->Require(complete, "SNP_ALIAS_CHECK", kAliasWhat,
                    complete ? "" : "ALIAS_CHECK_COMPLETE is clear",
                    "update the firmware (AMD-SB-3015), or set snp.allow_incomplete_alias_check");
  }
  if (const uint64_t unknown = report.platform_info & ~kKnownPlatformBits; unknown != 0) {
    checks->Warn("SNP_PLATFORM_UNKNOWN", "PLATFORM_INFO has known bits alone",
                 absl::StrFormat("unknown bits 0x%x are set", unknown));
  }
}

template <size_t kSize, typename Values>
void CheckListed(const std::array<uint8_t, kSize>& have, const Values& wanted, const char* id,
                 const char* name, CheckList* checks) {
  const std::string what = absl::StrCat("the ", name, " is one the policy lists");
  if (wanted.empty()) return;
  const std::string hex = base::ToHex(have);
  const bool listed = std::find(wanted.begin(), wanted.end(), hex) != wanted.end();
  checks->Require(listed, id, what,
                  listed ? "" : absl::StrCat("the ", name, " is ", hex, ", which is not listed"));
}

void CheckMeasurement(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "the measurement is a known one";
  const std::string hex = base::ToHex(report.measurement);
  checks->appraisal().claims["measurement"] = hex;
  if (policy.any_measurement()) {
    checks->Skip("SNP_MEASUREMENT", kWhat, "the policy takes any measurement");
    return;
  }
  for (const v1::SnpMeasurement& measurement : policy.measurements()) {
    if (measurement.sha384() != hex) continue;
    checks->appraisal().claims["measurement_name"] = measurement.name();
    checks->Pass("SNP_MEASUREMENT", kWhat, measurement.name());
    return;
  }
  checks->Fail(
      "SNP_MEASUREMENT", kWhat,
      absl::StrCat("measurement ", hex, " is none of the policy's ", policy.measurements_size()),
      "the peer runs another program or version; list it in snp.measurements if you "
      "trust it");
}

void CheckVmpl(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "the report comes from a privileged level of the guest";
  if (report.vmpl == kHostRequestedVmpl) {
    if (policy.allow_host_requested()) {
      checks->Skip("SNP_VMPL", kWhat, "the host asked for the report, which the policy allows");
    } else {
      checks->Fail("SNP_VMPL", kWhat, "the host asked for the report, not the guest");
    }
    return;
  }
  checks->Require(report.vmpl <= policy.max_vmpl(), "SNP_VMPL", kWhat,
                  absl::StrCat("VMPL ", report.vmpl, ", policy wants <= ", policy.max_vmpl()));
}

void CheckKeyDigests(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  CheckListed(report.id_key_digest, policy.id_key_digests(), "SNP_ID_KEY", "id key digest", checks);
  const bool has_author = !IsAll(report.author_key_digest, 0);
  checks->Require(has_author == report.author_key_enabled, "SNP_AUTHOR_KEY_FORM",
                  "AUTHOR_KEY_EN agrees with the author key digest",
                  has_author == report.author_key_enabled
                      ? ""
                      : absl::StrCat("AUTHOR_KEY_EN is ", report.author_key_enabled ? 1 : 0,
                                     ", the digest is ", has_author ? "set" : "zero"));
  CheckListed(report.author_key_digest, policy.author_key_digests(), "SNP_AUTHOR_KEY",
              "author key digest", checks);
}

}  // namespace

void CheckGuestPolicy(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  CheckPolicyForm(report, policy, checks);
  CheckLooseBits(report, policy, checks);
  CheckStrictBits(report, policy, checks);
  CheckPlatformInfo(report, policy, checks);
}

void CheckIdentity(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  CheckMeasurement(report, policy, checks);
  CheckVmpl(report, policy, checks);
  checks->Require(
      report.guest_svn >= policy.min_guest_svn(), "SNP_GUEST_SVN", "the guest's SVN is high enough",
      absl::StrCat("guest SVN ", report.guest_svn, ", policy wants >= ", policy.min_guest_svn()));
  CheckListed(report.family_id, policy.family_ids(), "SNP_FAMILY_ID", "family id", checks);
  CheckListed(report.image_id, policy.image_ids(), "SNP_IMAGE_ID", "image id", checks);
  CheckListed(report.host_data, policy.host_data(), "SNP_HOST_DATA", "host data", checks);
  CheckKeyDigests(report, policy, checks);
}

}  // namespace caravan::attestation::sev_snp
