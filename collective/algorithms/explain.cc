// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collective/algorithms/build_plan.h"

namespace caravan::collective {

absl::StatusOr<Choice> Compare(const OperationSpec& spec, int rank, int size,
                               const SelectorTable& table, const Rates& rates) {
  if (absl::Status status = CheckRates(rates); !status.ok()) return status;
  if (absl::Status status = spec.Validate(rank, size); !status.ok()) return status;
  absl::StatusOr<Selection> selection = Select(spec, size, table);
  if (!selection.ok()) return selection.status();
  std::vector<Algorithm> algorithms = {selection->algorithm};
  for (const Algorithm algorithm : AlgorithmsFor(spec.op)) {
    if (algorithm != selection->algorithm) algorithms.push_back(algorithm);
  }
  Choice choice;
  choice.selection = *std::move(selection);
  choice.rates = rates;
  for (const Algorithm algorithm : algorithms) {
    OperationSpec resolved = spec;
    resolved.algorithm = algorithm;
    absl::StatusOr<std::shared_ptr<const Plan>> plan = BuildPlan(resolved, rank, size);
    if (!plan.ok()) return plan.status();
    choice.plans.push_back(*std::move(plan));
    choice.prices.push_back(
        PriceOf(spec.op, algorithm, spec.WholeBytes(size), size, rates, spec.chunk_log2));
  }
  return choice;
}

std::string ExplainChoice(const Choice& choice) {
  std::string out = absl::StrCat(choice.selection.reason, "\n\n");
  absl::StrAppendFormat(&out, "  %-16s %12s %14s %14s %14s %14s %7s %6s\n", "algorithm",
                        "predicted", "sealed", "opened", "forwarded", "sent", "rounds", "depth");
  for (size_t i = 0; i < choice.plans.size(); ++i) {
    const Plan& plan = *choice.plans[i];
    const std::string_view name = Name(plan.spec.algorithm);
    absl::StrAppendFormat(&out, "%c %-16s %9.1f µs %14u %14u %14u %14u %7u %6u\n",
                          i == 0 ? '*' : ' ', absl::string_view(name.data(), name.size()),
                          choice.prices[i].total_ns / 1e3, plan.counters.sealed,
                          plan.counters.opened, plan.counters.forwarded, plan.counters.sent,
                          plan.rounds, plan.crypto_depth);
  }
  absl::StrAppend(&out, "\n", choice.plans.front()->Explain());
  const Price& price = choice.prices.front();
  absl::StrAppendFormat(&out,
                        "  predicted %.1f µs: the first record's way %.1f µs, then the longer of\n"
                        "    a rank's own time: rounds %.1f µs, and processor %.1f µs or link %.1f "
                        "µs\n    its node's processors, for all ranks there: %.1f µs\n",
                        price.total_ns / 1e3, price.first_record_ns / 1e3, price.rounds_ns / 1e3,
                        price.processor_ns / 1e3, price.link_ns / 1e3, price.shared_ns / 1e3);
  absl::StrAppend(&out, "\nrates\n");
  for (const NamedRate& named : NamedRates()) {
    absl::StrAppendFormat(&out, "  %-22s %14.6g  %s\n", named.name, choice.rates.*named.rate,
                          named.what);
  }
  return out;
}

}  // namespace caravan::collective
