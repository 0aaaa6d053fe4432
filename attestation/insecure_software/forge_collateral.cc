// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_collateral.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/intel/quote.h"
#include "base/hex.h"

namespace caravan::attestation::insecure_software {
namespace {

constexpr char kQeSigner = '\xDC';
constexpr size_t kMrSigner = 32;

std::string Time(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string Advisories(const std::vector<std::string>& ids) {
  if (ids.empty()) return "";
  return absl::StrCat(",\"advisoryIDs\":[\"", absl::StrJoin(ids, "\",\""), "\"]");
}

// Sixteen components, of which the one at `at` is `svn`.
std::string Components(size_t at, int svn) {
  std::vector<std::string> components;
  for (size_t i = 0; i < 16; ++i) {
    components.push_back(absl::StrCat("{\"svn\":", i == at ? svn : 0, "}"));
  }
  return absl::StrCat("[", absl::StrJoin(components, ","), "]");
}

std::string SvnLevels(const std::vector<SvnLevelSpec>& levels) {
  std::vector<std::string> texts;
  for (const SvnLevelSpec& level : levels) {
    texts.push_back(absl::StrCat("{\"tcb\":{\"isvsvn\":", level.svn, "},\"tcbDate\":\"", level.date,
                                 "T00:00:00Z\",\"tcbStatus\":\"", level.status, "\"",
                                 Advisories(level.advisories), "}"));
  }
  return absl::StrCat("[", absl::StrJoin(texts, ","), "]");
}

std::string Module() {
  return absl::StrCat("\"mrsigner\":\"", std::string(96, '0'),
                      "\",\"attributes\":\"0000000000000000\",\"attributesMask\":"
                      "\"FFFFFFFFFFFFFFFF\"");
}

}  // namespace

std::string TcbInfoBody(const TcbInfoSpec& spec) {
  std::vector<std::string> texts;
  for (const TcbLevelSpec& level : spec.levels) {
    std::string tcb =
        absl::StrCat("{\"sgxtcbcomponents\":", Components(0, level.sgx), ",\"pcesvn\":", level.pce);
    if (spec.id == "TDX") absl::StrAppend(&tcb, ",\"tdxtcbcomponents\":", Components(2, level.tdx));
    texts.push_back(absl::StrCat("{\"tcb\":", tcb, "},\"tcbDate\":\"", level.date,
                                 "T00:00:00Z\",\"tcbStatus\":\"", level.status, "\"",
                                 Advisories(level.advisories), "}"));
  }
  std::string modules;
  if (spec.id == "TDX") {
    modules = absl::StrCat("\"tdxModule\":{", Module(), "},\"tdxModuleIdentities\":[{\"id\":\"",
                           spec.module_id, "\",", Module(),
                           ",\"tcbLevels\":", SvnLevels(spec.module_levels), "}],");
  }
  return absl::StrCat("{\"id\":\"", spec.id, "\",\"version\":3,\"issueDate\":\"",
                      Time(spec.issue_date), "\",\"nextUpdate\":\"", Time(spec.next_update),
                      "\",\"fmspc\":\"", spec.fmspc, "\",\"pceId\":\"", spec.pce_id,
                      "\",\"tcbType\":0,\"tcbEvaluationDataNumber\":", spec.evaluation_number, ",",
                      modules, "\"tcbLevels\":[", absl::StrJoin(texts, ","), "]}");
}

std::string QeIdentityBody(const QeIdentitySpec& spec) {
  return absl::StrCat("{\"id\":\"", spec.id, "\",\"version\":2,\"issueDate\":\"",
                      Time(spec.issue_date), "\",\"nextUpdate\":\"", Time(spec.next_update),
                      "\",\"tcbEvaluationDataNumber\":", spec.evaluation_number,
                      ",\"miscselect\":\"00000000\",\"miscselectMask\":\"FFFFFFFF\",\"attributes\":"
                      "\"11000000000000000000000000000000\",\"attributesMask\":"
                      "\"FBFFFFFFFFFFFFFF0000000000000000\",\"mrsigner\":\"",
                      base::ToHex(std::vector<uint8_t>(kMrSigner, static_cast<uint8_t>(kQeSigner))),
                      "\",\"isvprodid\":2,\"tcbLevels\":", SvnLevels(spec.levels), "}");
}

std::string QeReport(int svn) {
  std::string report(intel::kSgxReportSize, '\0');
  report[48] = 0x11;  // INIT, PROVISIONING_KEY
  std::fill_n(report.begin() + 128, kMrSigner, kQeSigner);
  report[256] = 2;
  report[258] = static_cast<char>(svn);
  return report;
}

}  // namespace caravan::attestation::insecure_software
