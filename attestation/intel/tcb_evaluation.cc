// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/tcb_evaluation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::attestation::intel {
namespace {

constexpr size_t kModuleSvn = 0;      // of a TEE TCB SVN
constexpr size_t kModuleVersion = 1;  // of a TEE TCB SVN

void Below(const Svns& have, const Svns& want, size_t from, const char* kind,
           const std::array<std::string, 16>& names, std::string* text) {
  for (size_t i = from; i < have.size(); ++i) {
    if (have[i] >= want[i]) continue;
    absl::StrAppend(text, text->empty() ? "" : "; ", kind, " component ", i + 1,
                    names[i].empty() ? "" : absl::StrCat(" (", names[i], ")"),
                    absl::StrFormat(" SVN %d, the level wants >= %d", have[i], want[i]));
  }
}

// Empty when the platform reaches the level.
std::string Shortfall(const PlatformTcb& platform, const std::optional<Svns>& tee_tcb_svn,
                      const TcbLevel& level) {
  std::string text;
  Below(platform.sgx, level.sgx, 0, "sgx", level.sgx_names, &text);
  if (platform.pce_svn < level.pce_svn) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "pce SVN ", platform.pce_svn,
                    ", the level wants >= ", level.pce_svn);
  }
  if (tee_tcb_svn.has_value()) {
    // The first two belong to the TDX module, which from version 1 on is rated by its identity.
    const size_t from = (*tee_tcb_svn)[kModuleVersion] > 0 ? 2 : 0;
    Below(*tee_tcb_svn, level.tdx, from, "tdx", level.tdx_names, &text);
  }
  return text;
}

template <typename Levels>
std::optional<absl::Time> BehindSince(const Levels& levels, size_t at) {
  std::optional<absl::Time> since;
  for (size_t i = 0; i < at; ++i) {
    const absl::Time date = levels[i].rating.date;
    if (date > levels[at].rating.date && (!since.has_value() || date < *since)) since = date;
  }
  return since;
}

// The first level that `shortfall` finds nothing short of.
template <typename Levels, typename Short>
absl::StatusOr<ComponentTcb> Match(const std::string& name, const Levels& levels, Short shortfall) {
  ComponentTcb component{.name = name};
  for (size_t i = 0; i < levels.size(); ++i) {
    std::string text = shortfall(levels[i]);
    if (i == 0) component.shortfall = text;
    if (!text.empty()) {
      if (i + 1 == levels.size()) {
        return absl::NotFoundError(
            absl::StrCat(name, " stands below every TCB level; of the lowest it lacks: ", text));
      }
      continue;
    }
    component.rating = levels[i].rating;
    component.behind_since = BehindSince(levels, i);
    return component;
  }
  return absl::NotFoundError(absl::StrCat(name, " has no TCB levels"));
}

absl::StatusOr<ComponentTcb> MatchIsvSvn(const std::string& name,
                                         const std::vector<IsvSvnLevel>& levels, uint16_t svn) {
  return Match(name, levels, [svn](const IsvSvnLevel& level) {
    return svn >= level.isv_svn ? std::string()
                                : absl::StrCat("SVN ", svn, ", the level wants >= ", level.isv_svn);
  });
}

absl::StatusOr<TcbEvaluation> EvaluateAt(const PlatformTcb& platform,
                                         const std::optional<Svns>& tee_tcb_svn,
                                         const TcbInfo& info, const EnclaveIdentity& identity) {
  TcbEvaluation out;
  absl::StatusOr<ComponentTcb> match = Match("platform", info.levels, [&](const TcbLevel& level) {
    return Shortfall(platform, tee_tcb_svn, level);
  });
  if (!match.ok()) return match.status();
  out.components.push_back(*std::move(match));
  if (tee_tcb_svn.has_value() && (*tee_tcb_svn)[kModuleVersion] > 0) {
    const TdxModule* module = FindModule(info, *tee_tcb_svn);
    if (module == nullptr) {
      return absl::NotFoundError(absl::StrFormat("TCB info knows no TDX module of version %d",
                                                 (*tee_tcb_svn)[kModuleVersion]));
    }
    match = MatchIsvSvn("tdx module", module->levels, (*tee_tcb_svn)[kModuleSvn]);
    if (!match.ok()) return match.status();
    out.components.push_back(*std::move(match));
  }
  match = MatchIsvSvn("quoting enclave", identity.levels, platform.qe_isv_svn);
  if (!match.ok()) return match.status();
  out.components.push_back(*std::move(match));

  std::set<std::string> advisories;
  out.status = TcbStatus::kUpToDate;
  out.date = absl::InfiniteFuture();
  for (const ComponentTcb& component : out.components) {
    const LevelRating& rating = component.rating;
    out.status = Combine(out.status, rating.status);
    out.date = std::min(out.date, rating.date);
    advisories.insert(rating.advisories.begin(), rating.advisories.end());
    if (!IsOutOfDate(rating.status)) continue;
    // A part whose date of falling behind is unknown has been behind for ever.
    const absl::Time since = component.behind_since.value_or(absl::InfinitePast());
    out.behind_since = std::min(out.behind_since.value_or(since), since);
  }
  out.advisories.assign(advisories.begin(), advisories.end());
  return out;
}

}  // namespace

const TdxModule* FindModule(const TcbInfo& info, const Svns& tee_tcb_svn) {
  if (tee_tcb_svn[kModuleVersion] == 0) return &info.module;
  const std::string id = absl::StrFormat("TDX_%02X", tee_tcb_svn[kModuleVersion]);
  for (const TdxModule& module : info.modules) {
    if (absl::AsciiStrToUpper(module.id) == id) return &module;
  }
  return nullptr;
}

absl::StatusOr<TcbEvaluation> EvaluateTcb(const PlatformTcb& platform, const TcbInfo& info,
                                          const EnclaveIdentity& identity) {
  absl::StatusOr<TcbEvaluation> launch = EvaluateAt(platform, platform.tee_tcb_svn, info, identity);
  if (!launch.ok() || !platform.tee_tcb_svn2.has_value()) return launch;
  absl::StatusOr<TcbEvaluation> current =
      EvaluateAt(platform, platform.tee_tcb_svn2, info, identity);
  if (!current.ok()) {
    return absl::NotFoundError(
        absl::StrCat("under the module that runs now: ", current.status().message()));
  }
  launch->status = CombineWithRelaunch(launch->status, current->status);
  // What is known against the module that runs now counts as well.
  std::set<std::string> advisories(launch->advisories.begin(), launch->advisories.end());
  advisories.insert(current->advisories.begin(), current->advisories.end());
  launch->advisories.assign(advisories.begin(), advisories.end());
  launch->date = std::min(launch->date, current->date);
  return launch;
}

}  // namespace caravan::attestation::intel
