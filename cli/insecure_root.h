// SPDX-License-Identifier: Apache-2.0
//
// caravanctl insecure-root create: a root for software stand-ins, for trials.
#ifndef CARAVAN_CLI_INSECURE_ROOT_H_
#define CARAVAN_CLI_INSECURE_ROOT_H_

#include <string>

#include "cli/output.h"

namespace caravan::cli {

// Schema caravan.insecure-root/1. Makes the folder (mode 0700, unless it is there), writes root.key
// (0600), chain.pem and crl.pem into it, overwriting nothing, and prints the line by which a policy
// pins the root. kUsage when a file is there already or the folder cannot be made, kNotPermitted
// when it may not be.
int RunInsecureRootCreate(const Context& context, const std::string& directory);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_INSECURE_ROOT_H_
