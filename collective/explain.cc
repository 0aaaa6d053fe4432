// SPDX-License-Identifier: Apache-2.0
#include "collective/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::collective {

absl::StatusOr<Choice> Compare(const OperationSpec& spec, int rank, int size,
                               const SelectorTable& table) {
  if (absl::Status status = spec.Validate(rank, size); !status.ok()) return status;
  absl::StatusOr<Selection> selection = Select(spec, size, table);
  if (!selection.ok()) return selection.status();
  std::vector<Algorithm> algorithms = {selection->algorithm};
  for (const Algorithm algorithm : AlgorithmsFor(spec.op)) {
    if (algorithm != selection->algorithm) algorithms.push_back(algorithm);
  }
  Choice choice;
  choice.selection = *std::move(selection);
  for (const Algorithm algorithm : algorithms) {
    OperationSpec resolved = spec;
    resolved.algorithm = algorithm;
    absl::StatusOr<std::shared_ptr<const Plan>> plan = BuildPlan(resolved, rank, size);
    if (!plan.ok()) return plan.status();
    choice.plans.push_back(*std::move(plan));
  }
  return choice;
}

std::string ExplainChoice(const Choice& choice) {
  std::string out = absl::StrCat(choice.selection.reason, "\n\n");
  absl::StrAppendFormat(&out, "  %-14s %14s %14s %14s %14s %7s %6s\n", "algorithm", "sealed",
                        "opened", "forwarded", "sent", "rounds", "depth");
  for (const auto& plan : choice.plans) {
    const bool chosen = plan == choice.plans.front();
    const std::string_view name = Name(plan->spec.algorithm);
    absl::StrAppendFormat(&out, "%c %-14s %14u %14u %14u %14u %7u %6u\n", chosen ? '*' : ' ',
                          absl::string_view(name.data(), name.size()), plan->counters.sealed,
                          plan->counters.opened, plan->counters.forwarded, plan->counters.sent,
                          plan->rounds, plan->crypto_depth);
  }
  absl::StrAppend(&out, "\n", choice.plans.front()->Explain());
  return out;
}

}  // namespace caravan::collective
