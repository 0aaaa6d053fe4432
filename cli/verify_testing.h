// SPDX-License-Identifier: Apache-2.0
//
// For tests: one run of `caravanctl verify`, its JSON read.
#ifndef CARAVAN_CLI_VERIFY_TESTING_H_
#define CARAVAN_CLI_VERIFY_TESTING_H_

#include <string>
#include <vector>

#include "cli/verify.h"

namespace caravan::cli {

struct VerifyRun {
  int exit = -1;
  std::string platform;
  std::string tcb_status;           // of an Intel platform, where it has one
  std::vector<std::string> failed;  // ids of checks
  std::string decisive;             // the first failed, else the first missing; "" for neither
  std::string text;                 // all that was printed
};

// `policy` is the text of one; `options` need name none.
VerifyRun RunVerifyForTest(VerifyOptions options, const std::string& policy);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_VERIFY_TESTING_H_
