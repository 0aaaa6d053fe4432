// SPDX-License-Identifier: Apache-2.0
#include "attestation/appraisal.h"

#include "absl/strings/str_cat.h"

namespace caravan::attestation {

const Check* Appraisal::Decisive() const {
  const Check* missing = nullptr;
  for (const Check& check : checks) {
    if (check.outcome == Outcome::kFailed) return &check;
    if (check.outcome == Outcome::kMissing && missing == nullptr) missing = &check;
  }
  return missing;
}

absl::Status Appraisal::ToStatus() const {
  if (accepted()) return absl::OkStatus();
  const Check* decisive = Decisive();
  if (decisive == nullptr) {
    return absl::FailedPreconditionError("evidence was not appraised [NOT_APPRAISED]");
  }
  const std::string message = absl::StrCat(
      decisive->detail.empty() ? decisive->what : decisive->detail, " [", decisive->id, "]");
  return decisive->outcome == Outcome::kFailed ? absl::PermissionDeniedError(message)
                                               : absl::FailedPreconditionError(message);
}

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "none";
    case Verdict::kAffirming:
      return "affirming";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kContraindicated:
      return "contraindicated";
  }
  return "none";
}

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kWarned:
      return "warned";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kMissing:
      return "missing";
  }
  return "skipped";
}

}  // namespace caravan::attestation
