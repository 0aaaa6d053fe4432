// SPDX-License-Identifier: Apache-2.0
//
// Why an algorithm was chosen, beside what the others would cost: for `caravanctl plan explain`.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_EXPLAIN_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_EXPLAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/cost/cost.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

struct Choice {
  Selection selection;
  Rates rates;
  // One rank's plan by each algorithm that can carry the operation, the chosen one first.
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<Price> prices;  // of all ranks together, by plan
};

// Resolves `spec` by `table` and builds the plans of `rank` among `size`. Errors are those of
// Select and BuildPlan.
absl::StatusOr<Choice> Compare(const OperationSpec& spec, int rank, int size,
                               const SelectorTable& table, const Rates& rates);

// The reason, a line for each algorithm (bytes of this rank), and the chosen plan.
std::string ExplainChoice(const Choice& choice);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_EXPLAIN_H_
