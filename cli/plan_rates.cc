// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_rates.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/admin_client.h"
#include "collective/cost/cost.h"
#include "collective/cost/selector.h"

namespace caravan::cli {

absl::Status AskDaemonForPlan(const Context& context, const std::string& communicator,
                              PlanExplainOptions* options) {
  auto client = AdminClient::Connect(context.runtime_dir, context.timeout);
  if (!client.ok()) return client.status();
  auto reply = (*client)->GetStatus();
  if (!reply.ok()) return reply.status();
  collective::Rates rates;
  for (const collective::NamedRate& named : collective::NamedRates()) {
    const auto found = reply->rates().find(named.name);
    if (found != reply->rates().end()) rates.*named.rate = found->second;
  }
  options->measured = rates;
  if (communicator.empty()) return absl::OkStatus();
  for (const v1::CommunicatorInfo& info : reply->communicators()) {
    if (info.name() != communicator) continue;
    auto table = collective::ParseSelectorTable(info.selector_table());
    if (!table.ok()) return table.status();
    options->table = *std::move(table);
    // Where ranks share nodes, the table is of what travels between nodes.
    options->ranks = static_cast<int>(info.size() / std::max(1u, info.ranks_here()));
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("the daemon has no communicator \"", communicator, "\": see caravanctl status"));
}

}  // namespace caravan::cli
