// SPDX-License-Identifier: Apache-2.0
//
// `caravanctl plan explain`: which algorithm an operation gets, why, what it costs one rank, and
// the times that the model predicts. Needs no daemon.
#ifndef CARAVAN_CLI_PLAN_PLAN_H_
#define CARAVAN_CLI_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "collective/cost/cost.h"
#include "collective/cost/selector.h"

namespace caravan::cli {

inline constexpr char kPlanExplainSchema[] = "caravan.plan.explain/1";

struct PlanExplainOptions {
  std::string op = "allreduce";
  // Elements as NCCL counts them, or the same in bytes; at most one of the two. Neither: 1 MiB,
  // or 0 for a barrier. For the v forms it is the sum of counts as even as they can be.
  std::optional<uint64_t> count;
  std::optional<uint64_t> bytes;
  std::string dtype = "f32";
  std::string reduce = "sum";
  int ranks = 2;
  int rank = 0;
  int root = 0;             // broadcast, reduce, gather, scatter
  std::optional<int> peer;  // send, recv; the next rank when absent
  std::string algorithm = "auto";
  int chunk_log2 = 17;
  // What a daemon measured, default rates without; then "name=value" each, as in
  // collective::NamedRates().
  std::optional<collective::Rates> measured;
  std::vector<std::string> rates;
  // By which a communicator's ranks choose; without it, what the rates give.
  std::optional<collective::SelectorTable> table;
  std::string output = "table";  // or "json": one document on `out`, also on failure
};

// Returns the exit code: 0, or 2 when the options describe no plan.
int RunPlanExplain(const PlanExplainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_PLAN_PLAN_H_
