// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/verifier.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/verifier.h"
#include "attestation/tdx/verifier.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/tpm/rules.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {
namespace {

// What the hardware report of these claims carries. It says nothing about time: the report is made
// once a boot, so that only the quote can be fresh.
ReportData ClaimsReportData(std::string_view claims) {
  const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(claims));
  ReportData data;
  std::copy(digest.begin(), digest.end(), data.bytes.begin());
  return data;
}

void CheckHclForm(const HclReport& report, CheckList* checks) {
  checks->Pass("VTPM_HCL_FORM", "the HCL report is well formed",
               report.type == HardwareType::kSnp ? "sev-snp" : "tdx");
  const bool zero = report.trailing.find_first_not_of('\0') == std::string_view::npos;
  checks->Require(zero, "VTPM_HCL_TRAILER", "nothing but padding follows the HCL report",
                  zero ? "" : absl::StrCat(report.trailing.size(), " bytes follow, not all zero"));
}

void CheckClaimsBinding(const HclReport& report, CheckList* checks) {
  const ReportData data = ClaimsReportData(report.claims);
  const bool same = crypto::AsBytes(report.report_data) == absl::MakeConstSpan(data.bytes);
  checks->Require(
      same, "VTPM_CLAIMS_BINDING", "the hardware vouches for the runtime claims",
      same ? ""
           : absl::StrCat("report data is ", base::ToHex(crypto::AsBytes(report.report_data)),
                          ", the claims hash to ", base::ToHex(data.bytes)));
}

// The hardware report, by the verifier of its kind, under the rules of vtpm.snp or vtpm.tdx: those
// of the policy's own snp or tdx are about reports that a guest asks for itself.
void CheckHardware(const HclReport& report, const VtpmEvidence& parts, const Evidence& evidence,
                   const Endorsements& endorsements, const Policy& policy, absl::Time now,
                   CheckList* checks) {
  Policy inner = policy;
  inner.clear_snp();
  inner.clear_tdx();
  const auto expected = ReportDataExpectation::Exactly(ClaimsReportData(report.claims));
  if (report.type == HardwareType::kSnp) {
    if (policy.vtpm().has_snp()) *inner.mutable_snp() = policy.vtpm().snp();
    sev_snp::Verify(
        {EvidenceKind::kSevSnp, std::string(report.hardware_report), evidence.certificates},
        endorsements, inner, expected, now, checks);
    checks->Require(parts.td_quote.empty(), "VTPM_TD_QUOTE", "a TD quote comes with a TD alone",
                    parts.td_quote.empty() ? "" : "there is one beside an SEV-SNP report");
    return;
  }
  if (policy.vtpm().has_tdx()) *inner.mutable_tdx() = policy.vtpm().tdx();
  if (parts.td_quote.empty()) {
    checks->appraisal().platform = "tdx";
    checks->Missing("VTPM_TD_QUOTE", "there is a TD quote", "the evidence has a TD report alone",
                    "the report's MAC binds it to its machine: ask that machine for a quote");
    return;
  }
  CheckTdReport(report.hardware_report, parts.td_quote, checks);
  tdx::Verify({EvidenceKind::kTdx, parts.td_quote, evidence.certificates}, endorsements, inner,
              expected, now, checks);
}

void CheckSecureBoot(const RuntimeClaims& claims, const v1::VtpmPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "secure boot is on";
  const bool on = claims.secure_boot.value_or(false);
  if (!on && policy.allow_secure_boot_off()) {
    checks->Skip("VTPM_SECURE_BOOT", kWhat, "it is off, or not said; the policy allows it");
    return;
  }
  checks->Require(on, "VTPM_SECURE_BOOT", kWhat,
                  on                               ? ""
                  : claims.secure_boot.has_value() ? "the runtime claims say that it is off"
                                                   : "the runtime claims do not say so",
                  "only vtpm.allow_secure_boot_off lets it pass");
}

}  // namespace

void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks) {
  Appraisal& appraisal = checks->appraisal();
  appraisal.platform = "vtpm";
  if (!policy.has_vtpm()) {
    checks->Fail("VTPM_POLICY", "the policy has rules for vtpm",
                 absl::StrCat("policy \"", policy.name(), "\" has none"), "add vtpm { … }");
    return;
  }
  const absl::StatusOr<VtpmEvidence> parts = DecodeVtpmEvidence(evidence.report);
  if (!parts.ok()) {
    checks->Fail("VTPM_FORM", "the evidence is well formed", std::string(parts.status().message()));
    return;
  }
  checks->Pass("VTPM_FORM", "the evidence is well formed");
  const absl::StatusOr<HclReport> report = ParseHclReport(parts->hcl_report);
  if (!report.ok()) {
    checks->Fail("VTPM_HCL_FORM", "the HCL report is well formed",
                 std::string(report.status().message()));
    return;
  }
  CheckHclForm(*report, checks);
  CheckClaimsBinding(*report, checks);
  CheckHardware(*report, *parts, evidence, endorsements, policy, now, checks);
  appraisal.platform = absl::StrCat("vtpm on ", appraisal.platform);
  constexpr std::string_view kClaimsWhat = "the runtime claims name one attestation key";
  const absl::StatusOr<RuntimeClaims> claims = ParseRuntimeClaims(report->claims);
  if (!claims.ok()) {
    checks->Fail("VTPM_CLAIMS", kClaimsWhat, std::string(claims.status().message()));
    return;
  }
  checks->Pass("VTPM_CLAIMS", kClaimsWhat);
  appraisal.claims["ak_sha256"] = base::ToHex(crypto::Sha256(crypto::AsBytes(claims->ak_modulus)));
  if (!claims->vm_id.empty()) appraisal.claims["vm_id"] = claims->vm_id;
  CheckSecureBoot(*claims, policy.vtpm(), checks);
  CheckQuote(*parts, *claims, policy.vtpm(), expected, checks);
}

}  // namespace caravan::attestation::tpm
