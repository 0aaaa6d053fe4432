// SPDX-License-Identifier: Apache-2.0
#include "attestation/appraisal.h"

#include "base/reason.h"

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
    return base::Refusal(absl::StatusCode::kFailedPrecondition, base::Known("NOT_APPRAISED"),
                         "evidence was not appraised");
  }
  return base::Refusal(decisive->outcome == Outcome::kFailed
                           ? absl::StatusCode::kPermissionDenied
                           : absl::StatusCode::kFailedPrecondition,
                       decisive->id, decisive->detail.empty() ? decisive->what : decisive->detail);
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
