// SPDX-License-Identifier: Apache-2.0
//
// The command table: what caravanctl takes, and which function runs it.
#ifndef CARAVAN_CLI_COMMAND_LINE_H_
#define CARAVAN_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "cli/output.h"

namespace caravan::cli {

inline constexpr char kVersion[] = "0.1.0";

// Runs one command line (without the program's name) and returns the exit code. `context` holds
// the streams and the defaults; the arguments override the rest of it. Help goes to out.
int RunCommandLine(const std::vector<std::string>& arguments, Context context);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_COMMAND_LINE_H_
