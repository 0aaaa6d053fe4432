// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/verifier.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/platform_rules.h"
#include "attestation/intel/verifier.h"
#include "attestation/tdx/rules.h"
#include "attestation/tdx/td_report.h"

namespace caravan::attestation::tdx {

void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks) {
  checks->appraisal().platform = "tdx";
  intel::Findings findings("TDX", checks);
  if (!policy.has_tdx()) {
    findings.Fail("POLICY", "the policy has rules for tdx",
                  absl::StrCat("policy \"", policy.name(), "\" has none"), "add tdx { … }");
    return;
  }
  const v1::IntelPlatformPolicy& platform = policy.tdx().platform();
  const std::optional<intel::CheckedQuote> checked =
      intel::CheckQuote(intel::kTeeTdx, evidence, endorsements, policy, platform, now, &findings);
  if (!checked.has_value()) return;
  const TdReport report = ViewTdReport(checked->quote.body_type, checked->quote.body);
  checks->appraisal().platform =
      absl::StrCat(checked->chain.insecure ? "insecure " : "",
                   report.tee_tcb_svn2.has_value() ? "tdx 1.5" : "tdx 1.0");
  intel::CheckReportData(report.report_data, expected, &findings);
  CheckModule(report, checked->documents.tcb_info, policy.tdx(), &findings);
  intel::PlatformTcb tcb = intel::PlatformTcbOf(*checked);
  tcb.tee_tcb_svn = report.tee_tcb_svn;
  tcb.tee_tcb_svn2 = report.tee_tcb_svn2;
  intel::CheckTcb(tcb, checked->documents, platform, now, &findings);
  CheckAttributes(report, policy.tdx(), &findings);
  CheckIdentity(report, policy.tdx(), &findings);
}

}  // namespace caravan::attestation::tdx
