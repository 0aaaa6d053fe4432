// SPDX-License-Identifier: Apache-2.0
//
// caravanctl config check: is a configuration file right? Needs no daemon.
#ifndef CARAVAN_CLI_CONFIG_CHECK_H_
#define CARAVAN_CLI_CONFIG_CHECK_H_

#include <string>

#include "cli/output.h"

namespace caravan::cli {

// Schema caravan.config-check/1. Prints the configuration as the daemon would run it, with every
// default in place; kUsage with "file:line:column: what is wrong" for the first error.
int RunConfigCheck(const Context& context, const std::string& file);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_CONFIG_CHECK_H_
