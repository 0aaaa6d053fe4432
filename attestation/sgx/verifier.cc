// SPDX-License-Identifier: Apache-2.0
#include "attestation/sgx/verifier.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/platform_rules.h"
#include "attestation/intel/sgx_report.h"
#include "attestation/intel/verifier.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::sgx {
namespace {

using intel::Findings;
using intel::SgxReport;

void CheckAttributes(const SgxReport& report, const v1::SgxPolicy& policy, Findings* findings) {
  findings->claim("attributes") = base::ToHex(report.attributes);
  findings->claim("misc_select") = base::ToHex(report.misc_select);
  // The CPU makes no report for an enclave without INIT: a clear bit is odd, and proves nothing.
  if ((report.flags() & intel::kSgxInit) == 0) {
    findings->Warn("INIT", "the enclave was initialised", "ATTRIBUTES.INIT is clear");
  }
  if (const uint64_t odd = report.flags() & ~intel::kSgxKnownFlags; odd != 0) {
    findings->Warn(
        "ATTRIBUTES_UNKNOWN", "ATTRIBUTES have known bits alone",
        absl::StrFormat("ATTRIBUTES.FLAGS are 0x%x, of which the bits 0x%x are not known",
                        report.flags(), odd));
  }
  if (!report.reserved_is_zero) {
    findings->Warn("REPORT_UNKNOWN", "the report has known fields alone",
                   "reserved bytes of the report are not zero");
  }
  constexpr std::string_view kWhat = "debug is off";
  constexpr char kDetail[] = "the enclave is debuggable: the host can read its memory";
  const bool debug = (report.flags() & intel::kSgxDebug) != 0;
  if (debug && policy.allow_debug()) {
    findings->Skip("DEBUG", kWhat, absl::StrCat(kDetail, "; the policy allows it"));
  } else {
    findings->Require(!debug, "DEBUG", kWhat, debug ? kDetail : "",
                      "only sgx.allow_debug lets it pass");
  }
}

// What keeps the report from being this enclave; empty when it is.
std::string Difference(const SgxReport& report, const v1::SgxEnclave& enclave) {
  if (!enclave.mr_enclave().empty() && base::ToHex(report.mr_enclave) != enclave.mr_enclave()) {
    return absl::StrCat("MRENCLAVE is ", base::ToHex(report.mr_enclave), ", \"", enclave.name(),
                        "\" has ", enclave.mr_enclave());
  }
  if (!enclave.mr_signer().empty()) {
    if (base::ToHex(report.mr_signer) != enclave.mr_signer()) {
      return absl::StrCat("MRSIGNER is ", base::ToHex(report.mr_signer), ", \"", enclave.name(),
                          "\" has ", enclave.mr_signer());
    }
    if (report.isv_prod_id != enclave.isv_prod_id()) {
      return absl::StrCat("ISVPRODID is ", report.isv_prod_id, ", \"", enclave.name(), "\" has ",
                          enclave.isv_prod_id());
    }
  }
  if (report.isv_svn < enclave.min_isv_svn()) {
    return absl::StrCat("ISVSVN is ", report.isv_svn, ", \"", enclave.name(),
                        "\" wants >= ", enclave.min_isv_svn());
  }
  return "";
}

void CheckEnclave(const SgxReport& report, const v1::SgxPolicy& policy, Findings* findings) {
  constexpr std::string_view kWhat = "the enclave is a known one";
  findings->claim("mr_enclave") = base::ToHex(report.mr_enclave);
  findings->claim("mr_signer") = base::ToHex(report.mr_signer);
  findings->claim("isv_prod_id") = absl::StrCat(report.isv_prod_id);
  findings->claim("isv_svn") = absl::StrCat(report.isv_svn);
  if (policy.any_enclave()) {
    findings->Skip("ENCLAVE", kWhat, "the policy takes any enclave");
    return;
  }
  std::string last;
  for (const v1::SgxEnclave& enclave : policy.enclaves()) {
    last = Difference(report, enclave);
    if (!last.empty()) continue;
    findings->claim("enclave_name") = enclave.name();
    findings->Pass("ENCLAVE", kWhat, enclave.name());
    return;
  }
  findings->Fail(
      "ENCLAVE", kWhat,
      absl::StrCat("none of the policy's ", policy.enclaves_size(), " enclaves matches: ", last),
      "the peer runs another enclave or version; list it in sgx.enclaves if you "
      "trust it");
}

void CheckConfigId(const SgxReport& report, const v1::SgxPolicy& policy, Findings* findings) {
  constexpr std::string_view kWhat = "CONFIGID is one that the policy lists";
  const std::string hex = base::ToHex(report.config_id);
  findings->claim("config_id") = hex;
  findings->claim("config_svn") = absl::StrCat(report.config_svn);
  if (policy.any_config_id()) {
    findings->Skip("CONFIG_ID", kWhat, "the policy takes any CONFIGID");
    return;
  }
  const auto& listed = policy.config_ids();
  const bool zero = report.config_id.find_first_not_of('\0') == std::string_view::npos;
  const bool good =
      listed.empty() ? zero : std::find(listed.begin(), listed.end(), hex) != listed.end();
  findings->Require(
      good, "CONFIG_ID", kWhat,
      good ? ""
           : absl::StrCat("CONFIGID is ", hex,
                          listed.empty() ? ", the policy wants zero" : ", which is not listed"));
}

}  // namespace

void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks) {
  checks->appraisal().platform = "sgx";
  Findings findings("SGX", checks);
  if (!policy.has_sgx()) {
    findings.Fail("POLICY", "the policy has rules for sgx",
                  absl::StrCat("policy \"", policy.name(), "\" has none"), "add sgx { … }");
    return;
  }
  const v1::IntelPlatformPolicy& platform = policy.sgx().platform();
  const std::optional<intel::CheckedQuote> checked =
      intel::CheckQuote(intel::kTeeSgx, evidence, endorsements, policy, platform, now, &findings);
  if (!checked.has_value()) return;
  if (checked->chain.insecure) checks->appraisal().platform = "insecure sgx";
  const SgxReport report = intel::ViewSgxReport(checked->quote.body);
  intel::CheckReportData(report.report_data, expected, &findings);
  intel::CheckTcb(intel::PlatformTcbOf(*checked), checked->documents, platform, now, &findings);
  CheckAttributes(report, policy.sgx(), &findings);
  CheckEnclave(report, policy.sgx(), &findings);
  CheckConfigId(report, policy.sgx(), &findings);
}

}  // namespace caravan::attestation::sgx
