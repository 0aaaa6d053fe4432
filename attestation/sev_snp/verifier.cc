// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/verifier.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "attestation/sev_snp/chain.h"
#include "attestation/sev_snp/report.h"
#include "attestation/sev_snp/rules.h"
#include "attestation/sev_snp/signature.h"
#include "base/hex.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation::sev_snp {
namespace {

void CheckForm(const Report& report, CheckList* checks) {
  checks->Pass("SNP_REPORT_FORM", "the report is well formed",
               absl::StrCat("version ", report.version));
  if (!report.unknown.empty()) {
    checks->Warn("SNP_REPORT_UNKNOWN", "the report has known fields alone",
                 absl::StrCat("not zero or not known: ", absl::StrJoin(report.unknown, ", ")));
  }
  checks->Require(report.signature_algorithm == kEcdsaP384Sha384, "SNP_SIGNATURE_ALGORITHM",
                  "signed with ECDSA P-384 and SHA-384",
                  absl::StrCat("SIGNATURE_ALGO is ", report.signature_algorithm));
  checks->Require(report.trailer_is_zero, "SNP_TRAILER", "the unsigned trailer is empty",
                  report.trailer_is_zero ? "" : "unsigned bytes from 0x330 on are not zero");
}

void CheckReportData(const Report& report, const ReportDataExpectation& expected,
                     CheckList* checks) {
  constexpr std::string_view kWhat = "report data is what this verifier expects";
  checks->appraisal().claims["report_data"] = base::ToHex(report.report_data);
  if (!expected.data().has_value()) {
    checks->Skip("SNP_REPORT_DATA", kWhat,
                 "not asked for: nothing shows that the evidence is fresh or whose it is");
    checks->CapAtWarning();
    return;
  }
  const bool same = crypto::ConstantTimeEquals(report.report_data, expected.data()->bytes);
  checks->Require(same, "SNP_REPORT_DATA", kWhat,
                  same ? ""
                       : absl::StrCat("report data is ", base::ToHex(report.report_data),
                                      ", expected ", base::ToHex(expected.data()->bytes)),
                  "the evidence is replayed, or was made for another channel, role or round");
}

void Claim(const Report& report, const Chain& chain, CheckList* checks) {
  Appraisal& appraisal = checks->appraisal();
  const std::string product(chain.leaf.has_value() ? Name(chain.leaf->product) : "");
  appraisal.platform = absl::StrCat(chain.insecure ? "insecure-software" : "sev-snp",
                                    product.empty() ? "" : " ", product);
  appraisal.insecure = chain.insecure;
  auto& claims = appraisal.claims;
  claims["report_version"] = absl::StrCat(report.version);
  claims["guest_policy"] = absl::StrFormat("0x%x", report.policy);
  claims["platform_info"] = absl::StrFormat("0x%x", report.platform_info);
  claims["vmpl"] = report.vmpl == kHostRequestedVmpl ? "host" : absl::StrCat(report.vmpl);
  claims["guest_svn"] = absl::StrCat(report.guest_svn);
  claims["family_id"] = base::ToHex(report.family_id);
  claims["image_id"] = base::ToHex(report.image_id);
  claims["host_data"] = base::ToHex(report.host_data);
  claims["id_key_digest"] = base::ToHex(report.id_key_digest);
  claims["author_key_digest"] = base::ToHex(report.author_key_digest);
  claims["report_id"] = base::ToHex(report.report_id);
  claims["firmware"] = report.current.ToString();
  if (!chain.leaf.has_value()) return;
  claims["product"] = chain.leaf->product_name;
  claims["signing_key"] = chain.leaf->kind == SigningKey::kVlek ? "vlek" : "vcek";
  if (!chain.leaf->csp_id.empty()) claims["csp_id"] = chain.leaf->csp_id;
}

}  // namespace

void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks) {
  checks->appraisal().platform = "sev-snp";
  if (!policy.has_snp()) {
    checks->Fail("SNP_POLICY", "the policy has rules for sev-snp",
                 absl::StrCat("policy \"", policy.name(), "\" has none"), "add snp { … }");
    return;
  }
  absl::StatusOr<Report> report = ParseReport(evidence.report);
  if (!report.ok()) {
    checks->Fail("SNP_REPORT_FORM", "the report is well formed",
                 std::string(report.status().message()));
    return;
  }
  CheckForm(*report, checks);
  const Chain chain = CheckChain(*report, evidence, endorsements, policy, now, checks);
  constexpr std::string_view kSignatureWhat = "the certificate's key signed the report";
  if (chain.leaf.has_value()) {
    const absl::Status signature =
        CheckReportSignature(evidence.report, chain.leaf->certificate.public_key());
    checks->Require(signature.ok(), "SNP_SIGNATURE", kSignatureWhat,
                    std::string(signature.message()));
  } else {
    checks->Missing("SNP_SIGNATURE", kSignatureWhat, "there is no certificate to check it with");
  }
  Claim(*report, chain, checks);
  CheckReportData(*report, expected, checks);
  if (chain.leaf.has_value()) {
    CheckPlatform(*report, *chain.leaf, policy.snp(), checks);
    CheckTcb(*report, *chain.leaf, policy.snp(), checks);
  } else {
    checks->Missing("SNP_TCB_CERTIFICATE", "the certificate is for the reported TCB",
                    "there is no certificate to compare with");
  }
  CheckGuestPolicy(*report, policy.snp(), checks);
  CheckIdentity(*report, policy.snp(), checks);
}

}  // namespace caravan::attestation::sev_snp
