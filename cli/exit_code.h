// SPDX-License-Identifier: Apache-2.0
//
// What caravanctl's exit status means. Scripts rely on it: never renumber.
#ifndef CARAVAN_CLI_EXIT_CODE_H_
#define CARAVAN_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace caravan::cli {

enum ExitCode : int {
  kOk = 0,
  kInternalError = 1,
  kUsage = 2,        // wrong arguments, or a configuration with an error
  kUnreachable = 3,  // no daemon answers
  kRefused = 4,      // verification failed: checked and bad
  kDegraded = 5,     // the daemon serves, but something has failed
  kNotPermitted = 6,
  kTimedOut = 7,
  kNotAttested = 8,    // the daemon has no evidence yet
  kNotVerifiable = 9,  // could not be checked: endorsements or collateral are missing
};

// For an error of the daemon or of reaching it.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EXIT_CODE_H_
