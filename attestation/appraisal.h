// SPDX-License-Identifier: Apache-2.0
//
// A verifier's answer (RFC 9334: Attestation Result): every check with its outcome, the identity
// claims, and a verdict a person can act on.
#ifndef CARAVAN_ATTESTATION_APPRAISAL_H_
#define CARAVAN_ATTESTATION_APPRAISAL_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace caravan::attestation {

// EAR's words (draft-ietf-rats-ear). kNone: could not verify, something needed is missing.
enum class Verdict { kNone, kAffirming, kWarning, kContraindicated };

enum class Outcome { kPassed, kFailed, kWarned, kSkipped, kMissing };

struct Check {
  std::string id;    // stable, upper case: "SNP_DEBUG", "NONCE_MISMATCH"
  std::string what;  // "debug is off"
  Outcome outcome = Outcome::kSkipped;
  std::string detail;  // the shortfall: "microcode SVN 0x73, policy wants >= 0xd1"
  std::string hint;    // what to do, where there is something
};

struct Appraisal {
  Verdict verdict = Verdict::kNone;
  bool insecure = false;  // evidence of a software stand-in; policy allowed it
  std::string platform;   // "sev-snp milan", "insecure-software"
  std::vector<Check> checks;
  std::map<std::string, std::string> claims;  // "measurement" → hex, "chip_id" → hex, …

  bool accepted() const { return verdict == Verdict::kAffirming || verdict == Verdict::kWarning; }
  // The first failed check; where none failed, the first missing one; or null.
  const Check* Decisive() const;
  // OK when accepted; PermissionDenied when a check failed, FailedPrecondition when something is
  // missing. The message names the decisive check: "measurement … [SNP_MEASUREMENT]".
  absl::Status ToStatus() const;
};

std::string_view Name(Verdict verdict);  // "affirming", …
std::string_view Name(Outcome outcome);  // "passed", …

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_APPRAISAL_H_
