// SPDX-License-Identifier: Apache-2.0
//
// What caravanctl's exit status means. Scripts rely on it: never renumber.
#ifndef CARAVAN_CLI_EXIT_CODE_H_
#define CARAVAN_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace caravan::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,
  kExitUsage = 2,               // wrong arguments, or a configuration with an error
  kExitUnreachable = 3,         // no daemon answers
  kExitVerificationFailed = 4,  // verification failed: checked and bad
  kExitDegraded = 5,            // the daemon serves, but something has failed
  kExitPermission = 6,
  kExitTimedOut = 7,
  kExitNotAttested = 8,     // the daemon has no evidence yet
  kExitCouldNotVerify = 9,  // could not be checked: endorsements or collateral are missing
};

// For an error of the daemon or of reaching it.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EXIT_CODE_H_
