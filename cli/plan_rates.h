// SPDX-License-Identifier: Apache-2.0
//
// What `caravanctl plan explain` asks of a running daemon: its rates, and the table by which the
// ranks of a communicator choose.
#ifndef CARAVAN_CLI_PLAN_RATES_H_
#define CARAVAN_CLI_PLAN_RATES_H_

#include <string>

#include "absl/status/status.h"
#include "cli/output.h"
#include "cli/plan/plan.h"

namespace caravan::cli {

// Fills in `measured` and, where a communicator is named, `table` and `ranks`. Errors of the
// daemon; NotFound: it has no such communicator.
absl::Status AskDaemonForPlan(const Context& context, const std::string& communicator,
                              PlanExplainOptions* options);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_PLAN_RATES_H_
