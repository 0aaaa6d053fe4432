// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/intel/quote.h"
#include "attestation/tpm/rules.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {
namespace {

// TDREPORT_STRUCT (Intel TDX module ABI): REPORTMACSTRUCT, TEE_TCB_INFO at 256, TDINFO at 512.
constexpr std::string_view kReportType("\x81\x00", 2);  // TDX, no subtype
constexpr size_t kTcbInfoHash = 32, kTdInfoHash = 80, kDigest = 48;
constexpr size_t kTcbInfo = 256, kTcbInfoSize = 239;
constexpr size_t kTdInfo = 512, kTdInfoSize = 512;

// The rest, but for CPUSVN and the MAC, which only the machine can check: from, to.
constexpr std::pair<size_t, size_t> kReserved[] = {{3, 16}, {192, 224}, {495, 512}};
constexpr uint8_t kNewestVersion = 1;

struct SharedField {
  const char* name;
  size_t in_report;
  size_t in_quote;  // offset in the quote's body
  size_t size;
};
constexpr SharedField kTd10Fields[] = {
    {"TEE_TCB_SVN", 264, 0, 16},     {"MRSEAM", 280, 16, 48},       {"MRSIGNERSEAM", 328, 64, 48},
    {"SEAMATTRIBUTES", 376, 112, 8}, {"TDATTRIBUTES", 512, 120, 8}, {"XFAM", 520, 128, 8},
    {"MRTD", 528, 136, 48},          {"MRCONFIGID", 576, 184, 48},  {"MROWNER", 624, 232, 48},
    {"MROWNERCONFIG", 672, 280, 48}, {"RTMR0", 720, 328, 48},       {"RTMR1", 768, 376, 48},
    {"RTMR2", 816, 424, 48},         {"RTMR3", 864, 472, 48},       {"REPORTDATA", 128, 520, 64},
};
constexpr SharedField kTd15Fields[] = {{"TEE_TCB_SVN2", 384, 584, 16},
                                       {"MRSERVICETD", 912, 600, 48}};

// What is wrong, or nothing.
std::string Difference(std::string_view report, const intel::Quote& quote) {
  if (!report.starts_with(kReportType)) {
    return absl::StrCat("report type is ", base::ToHex(crypto::AsBytes(report.substr(0, 2))),
                        ", a td report's is 8100");
  }
  if (static_cast<uint8_t>(report[2]) > kNewestVersion) {
    return absl::StrCat("report version is ", static_cast<uint8_t>(report[2]));
  }
  for (const auto& [from, to] : kReserved) {
    if (report.substr(from, to - from).find_first_not_of('\0') != std::string_view::npos) {
      return absl::StrCat("reserved bytes from ", from, " on are not zero");
    }
  }
  const auto hashes_to = [&](size_t at, size_t size, size_t hash) {
    const crypto::Sha384Digest digest = crypto::Sha384(crypto::AsBytes(report.substr(at, size)));
    return crypto::AsBytes(report.substr(hash, kDigest)) == absl::MakeConstSpan(digest);
  };
  if (!hashes_to(kTcbInfo, kTcbInfoSize, kTcbInfoHash)) return "TEE_TCB_INFO has another hash";
  if (!hashes_to(kTdInfo, kTdInfoSize, kTdInfoHash)) return "TDINFO has another hash";
  const auto compare = [&](const SharedField& field) -> std::string {
    const std::string_view reported = report.substr(field.in_report, field.size);
    const std::string_view quoted = quote.body.substr(field.in_quote, field.size);
    if (reported == quoted) return "";
    return absl::StrCat(field.name, " is ", base::ToHex(crypto::AsBytes(reported)),
                        " in the report and ", base::ToHex(crypto::AsBytes(quoted)),
                        " in the quote");
  };
  for (const SharedField& field : kTd10Fields) {
    if (std::string found = compare(field); !found.empty()) return found;
  }
  if (quote.body_type == intel::BodyType::kTd10) return "";
  for (const SharedField& field : kTd15Fields) {
    if (std::string found = compare(field); !found.empty()) return found;
  }
  return "";
}

}  // namespace

void CheckTdReport(std::string_view td_report, std::string_view td_quote, CheckList* checks) {
  constexpr std::string_view kWhat = "the TD quote is of the TD report in the HCL report";
  const absl::StatusOr<intel::Quote> quote = intel::ParseQuote(td_quote);
  std::string problem;
  if (!quote.ok() || quote->tee_type != intel::kTeeTdx) {
    problem = quote.ok() ? "the quote is no td quote" : std::string(quote.status().message());
  } else {
    problem = Difference(td_report, *quote);
  }
  checks->Require(problem.empty(), "VTPM_TD_REPORT", kWhat, problem,
                  "quote and report are of two boots, or of two machines");
}

}  // namespace caravan::attestation::tpm
