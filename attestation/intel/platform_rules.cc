// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/platform_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::intel {
namespace {

std::string Day(absl::Time time) { return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone()); }

template <typename Values>
bool Contains(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// What the policy says about one status; nullopt when it does not take it.
std::optional<uint32_t> GraceDays(const v1::IntelPlatformPolicy& policy, TcbStatus status) {
  const v1::IntelTcbStatus name = PolicyName(status);
  if (policy.accepted_tcb().empty()) {
    const bool taken = name == v1::UP_TO_DATE || name == v1::SW_HARDENING_NEEDED;
    return taken ? std::optional<uint32_t>(0) : std::nullopt;
  }
  for (const v1::AcceptedIntelTcb& accepted : policy.accepted_tcb()) {
    if (name != v1::INTEL_TCB_STATUS_UNSPECIFIED && accepted.status() == name) {
      return accepted.grace_days();
    }
  }
  return std::nullopt;
}

std::string Describe(const TcbEvaluation& tcb) {
  std::string text = absl::StrCat("TCB status is ", std::string(Name(tcb.status)));
  for (const ComponentTcb& component : tcb.components) {
    if (component.shortfall.empty()) continue;
    absl::StrAppend(&text, "; ", component.name, " (", std::string(Name(component.rating.status)),
                    ", TCB of ", Day(component.rating.date),
                    ") falls short: ", component.shortfall);
  }
  if (!tcb.advisories.empty()) {
    absl::StrAppend(&text, "; open: ", absl::StrJoin(tcb.advisories, ", "));
  }
  return text;
}

void CheckStatus(const TcbEvaluation& tcb, const v1::IntelPlatformPolicy& policy, absl::Time now,
                 Findings* findings) {
  constexpr std::string_view kWhat = "the policy takes the platform's TCB status";
  std::string detail = Describe(tcb);
  const std::optional<uint32_t> grace = GraceDays(policy, tcb.status);
  if (!grace.has_value()) {
    findings->Fail("TCB_STATUS", kWhat, absl::StrCat(detail, "; the policy does not take it"),
                   "the machine's owner has to update it, or name the status in accepted_tcb");
    return;
  }
  if (*grace == 0 || !IsOutOfDate(tcb.status)) {
    findings->Pass("TCB_STATUS", kWhat, detail);
    return;
  }
  const absl::Time since = tcb.behind_since.value_or(absl::InfinitePast());
  const absl::Time until = since + absl::Hours(24) * *grace;
  if (since == absl::InfinitePast()) {
    absl::StrAppend(&detail, "; since when is not known");
  } else {
    absl::StrAppend(&detail, "; since ", Day(since), ", with ", *grace, " days of grace to ",
                    Day(until));
  }
  findings->Require(now <= until, "TCB_STATUS", kWhat, detail,
                    "the grace period is over: the machine's owner has to update it");
}

void CheckAdvisories(const TcbEvaluation& tcb, const v1::IntelPlatformPolicy& policy,
                     Findings* findings) {
  std::vector<std::string> refused;
  for (const std::string& advisory : tcb.advisories) {
    if (Contains(policy.refused_advisories(), advisory)) refused.push_back(advisory);
  }
  if (policy.refused_advisories().empty()) return;
  findings->Require(refused.empty(), "ADVISORIES", "no advisory that the policy refuses is open",
                    refused.empty() ? "" : absl::StrCat("open: ", absl::StrJoin(refused, ", ")));
}

}  // namespace

void CheckPlatform(const Pck& pck, const v1::IntelPlatformPolicy& policy, Findings* findings) {
  const std::string ppid = base::ToHex(pck.ppid), fmspc = base::ToHex(pck.fmspc);
  findings->claim("ppid") = ppid;
  findings->claim("fmspc") = fmspc;
  findings->claim("pce_id") = base::ToHex(pck.pce_id);
  findings->claim("cpu_svn") = base::ToHex(pck.cpu_svn);
  findings->claim("pce_svn") = absl::StrCat(pck.pce_svn);
  findings->claim("sgx_type") = std::string(Name(pck.sgx_type));
  if (pck.platform_instance_id.has_value()) {
    findings->claim("platform_instance_id") = base::ToHex(*pck.platform_instance_id);
  }
  const auto claim = [&](const char* name, const std::optional<bool>& value) {
    if (value.has_value()) findings->claim(name) = *value ? "true" : "false";
  };
  claim("dynamic_platform", pck.dynamic_platform);
  claim("cached_keys", pck.cached_keys);
  claim("smt_enabled", pck.smt_enabled);
  constexpr std::string_view kWhat = "the policy lists this machine";
  if (policy.any_platform()) {
    findings->Skip("PLATFORM", kWhat, "the policy takes any genuine machine");
  } else {
    const bool listed = Contains(policy.ppids(), ppid);
    findings->Require(listed, "PLATFORM", kWhat,
                      listed ? "" : absl::StrCat("PPID ", ppid, " is not in ppids"),
                      "add it, if the machine is one of yours");
  }
  if (policy.fmspcs().empty()) return;
  const bool listed = Contains(policy.fmspcs(), fmspc);
  findings->Require(listed, "FMSPC", "the policy takes this kind of platform",
                    listed ? "" : absl::StrCat("FMSPC ", fmspc, " is not in fmspcs"));
}

void CheckTcb(const PlatformTcb& platform, const Documents& documents,
              const v1::IntelPlatformPolicy& policy, absl::Time now, Findings* findings) {
  constexpr std::string_view kWhat = "Intel rates the platform's TCB";
  if (!documents.tcb_info.has_value() || !documents.identity.has_value()) {
    findings->Missing("TCB_LEVEL", kWhat, "there is no verified TCB info and QE identity");
    return;
  }
  absl::StatusOr<TcbEvaluation> tcb =
      EvaluateTcb(platform, *documents.tcb_info, *documents.identity);
  if (!tcb.ok()) {
    findings->Fail("TCB_LEVEL", kWhat,
                   absl::StrCat("no TCB level matches: ", tcb.status().message()));
    return;
  }
  findings->Pass("TCB_LEVEL", kWhat);
  findings->claim("tcb_status") = std::string(Name(tcb->status));
  findings->claim("tcb_date") = Day(tcb->date);
  findings->claim("tcb_advisories") = absl::StrJoin(tcb->advisories, ",");
  CheckStatus(*tcb, policy, now, findings);
  CheckAdvisories(*tcb, policy, findings);
}

}  // namespace caravan::attestation::intel
