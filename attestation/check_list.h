// SPDX-License-Identifier: Apache-2.0
//
// What verifiers write their checks into, in order; it draws the verdict in one place.
#ifndef CARAVAN_ATTESTATION_CHECK_LIST_H_
#define CARAVAN_ATTESTATION_CHECK_LIST_H_

#include <string>
#include <string_view>
#include <utility>

#include "attestation/appraisal.h"

namespace caravan::attestation {

class CheckList {
 public:
  explicit CheckList(Appraisal* appraisal) : appraisal_(appraisal) {}

  void Pass(std::string_view id, std::string_view what, std::string detail = "") {
    Add(id, what, Outcome::kPassed, std::move(detail), "");
  }
  void Fail(std::string_view id, std::string_view what, std::string detail, std::string hint = "") {
    Add(id, what, Outcome::kFailed, std::move(detail), std::move(hint));
  }
  void Warn(std::string_view id, std::string_view what, std::string detail, std::string hint = "") {
    Add(id, what, Outcome::kWarned, std::move(detail), std::move(hint));
  }
  // `detail` says why the check was not made; a skip never weakens the verdict by itself, so only
  // policy, named in `detail`, may be the reason.
  void Skip(std::string_view id, std::string_view what, std::string detail) {
    Add(id, what, Outcome::kSkipped, std::move(detail), "");
  }
  void Missing(std::string_view id, std::string_view what, std::string detail,
               std::string hint = "") {
    Add(id, what, Outcome::kMissing, std::move(detail), std::move(hint));
  }
  // Pass() or Fail(); true when it passed.
  bool Require(bool ok, std::string_view id, std::string_view what, std::string detail,
               std::string hint = "") {
    Add(id, what, ok ? Outcome::kPassed : Outcome::kFailed, std::move(detail),
        ok ? "" : std::move(hint));
    return ok;
  }

  // From now on the verdict is at best kWarning.
  void CapAtWarning() { capped_ = true; }

  // Writes the verdict: kContraindicated when a check failed, kNone when one is missing or there
  // is none at all, kWarning when one warned, kAffirming otherwise.
  void Conclude() {
    bool failed = false, missing = appraisal_->checks.empty(), warned = capped_;
    for (const Check& check : appraisal_->checks) {
      failed |= check.outcome == Outcome::kFailed;
      missing |= check.outcome == Outcome::kMissing;
      warned |= check.outcome == Outcome::kWarned;
    }
    appraisal_->verdict = failed    ? Verdict::kContraindicated
                          : missing ? Verdict::kNone
                          : warned  ? Verdict::kWarning
                                    : Verdict::kAffirming;
  }

  Appraisal& appraisal() { return *appraisal_; }

 private:
  void Add(std::string_view id, std::string_view what, Outcome outcome, std::string detail,
           std::string hint) {
    appraisal_->checks.push_back(
        {std::string(id), std::string(what), outcome, std::move(detail), std::move(hint)});
  }

  Appraisal* appraisal_;
  bool capped_ = false;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_CHECK_LIST_H_
