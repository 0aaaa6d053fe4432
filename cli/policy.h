// SPDX-License-Identifier: Apache-2.0
//
// caravanctl policy check and policy explain: a policy file, without a daemon.
#ifndef CARAVAN_CLI_POLICY_H_
#define CARAVAN_CLI_POLICY_H_

#include <string>

#include "cli/output.h"

namespace caravan::cli {

// Schema caravan.policy/1. Prints "FILE: ok, NAME@sha256:…". kUsage, with one line an error,
// "FILE:line:column: …", when the file cannot be read or is not valid.
int RunPolicyCheck(const Context& context, const std::string& file);

// Schema caravan.policy/1. Prints what the policy demands and what it lets pass, a sentence a line.
// Errors as RunPolicyCheck.
int RunPolicyExplain(const Context& context, const std::string& file);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_POLICY_H_
