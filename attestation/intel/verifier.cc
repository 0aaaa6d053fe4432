// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/verifier.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/intel/platform_rules.h"
#include "attestation/intel/quoting_enclave.h"
#include "attestation/intel/sgx_report.h"
#include "base/hex.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation::intel {
namespace {

void CheckForm(const Quote& quote, Findings* findings) {
  findings->Pass(
      "QUOTE_FORM", "the quote is well formed",
      absl::StrCat("version ", quote.version, ", body type ", static_cast<int>(quote.body_type)));
  findings->claim("quote_version") = absl::StrCat(quote.version);
  const bool zero = quote.trailing.find_first_not_of('\0') == std::string_view::npos;
  std::string detail;
  if (!zero) {
    detail = absl::StrCat(quote.trailing.size(), " unsigned bytes follow the quote, not all zero");
  } else if (!quote.trailing.empty()) {
    detail = absl::StrCat(quote.trailing.size(), " zero bytes follow the quote");
  }
  findings->Require(zero, "TRAILER", "nothing but padding follows the quote", detail);
}

}  // namespace

std::optional<CheckedQuote> CheckQuote(uint32_t tee_type, const Evidence& evidence,
                                       const Endorsements& endorsements, const Policy& policy,
                                       const v1::IntelPlatformPolicy& platform, absl::Time now,
                                       Findings* findings) {
  constexpr std::string_view kWhat = "the quote is well formed";
  absl::StatusOr<Quote> quote = ParseQuote(evidence.report);
  if (!quote.ok()) {
    findings->Fail("QUOTE_FORM", kWhat, std::string(quote.status().message()));
    return std::nullopt;
  }
  if (quote->tee_type != tee_type) {
    findings->Fail("QUOTE_FORM", kWhat,
                   absl::StrCat("quote: tee type is 0x", absl::Hex(quote->tee_type),
                                ", the evidence is said to be of 0x", absl::Hex(tee_type)));
    return std::nullopt;
  }
  CheckForm(*quote, findings);
  CheckedQuote checked{.quote = *quote, .chain = {}, .documents = {}};
  Chain& chain = checked.chain;
  chain = CheckChain(*quote, evidence, endorsements, policy, now, findings);
  findings->appraisal().insecure = chain.insecure;
  if (chain.root.has_value()) {
    checked.documents =
        CheckDocuments(tee_type == kTeeTdx, chain, endorsements, platform, now, findings);
    CheckChainRevocation(chain, checked.documents.signers, endorsements,
                         platform.allow_missing_crl(), now, findings);
  }
  CheckSignatures(*quote, chain.pck, findings);
  CheckQuotingEnclave(*quote, checked.documents.identity, findings);
  if (chain.pck.has_value()) CheckPlatform(*chain.pck, platform, findings);
  return checked;
}

void CheckReportData(std::string_view report_data, const ReportDataExpectation& expected,
                     Findings* findings) {
  constexpr std::string_view kWhat = "report data is what this verifier expects";
  const absl::Span<const uint8_t> have = crypto::AsBytes(report_data);
  findings->claim("report_data") = base::ToHex(have);
  if (!expected.data().has_value()) {
    findings->Skip("REPORT_DATA", kWhat,
                   "not asked for: nothing shows that the evidence is fresh or whose it is");
    findings->checks()->CapAtWarning();
    return;
  }
  const bool same = crypto::ConstantTimeEquals(have, expected.data()->bytes);
  findings->Require(same, "REPORT_DATA", kWhat,
                    same ? ""
                         : absl::StrCat("report data is ", base::ToHex(have), ", expected ",
                                        base::ToHex(expected.data()->bytes)),
                    "the evidence is replayed, or was made for another channel, role or round");
}

PlatformTcb PlatformTcbOf(const CheckedQuote& checked) {
  PlatformTcb tcb;
  tcb.qe_isv_svn = ViewSgxReport(checked.quote.qe_report).isv_svn;
  if (!checked.chain.pck.has_value()) return tcb;
  tcb.sgx = checked.chain.pck->sgx_svns;
  tcb.pce_svn = checked.chain.pck->pce_svn;
  return tcb;
}

}  // namespace caravan::attestation::intel
