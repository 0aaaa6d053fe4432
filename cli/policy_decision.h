// SPDX-License-Identifier: Apache-2.0
//
// caravanctl policy explain --evidence: which rule of a policy decides about evidence.
#ifndef CARAVAN_CLI_POLICY_DECISION_H_
#define CARAVAN_CLI_POLICY_DECISION_H_

#include "cli/output.h"
#include "cli/verify.h"

namespace caravan::cli {

// Schema caravan.decision/1. `options.policy` names the policy. Prints the verdict, the check that
// decided it with the policy's fields behind it, and every check that did not pass or that the
// policy waived. kOk whatever the verdict, which the explanation tells: judging is `verify`'s.
// kUsage for options and files that cannot be used.
int RunPolicyDecision(const Context& context, const VerifyOptions& options);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_POLICY_DECISION_H_
