// SPDX-License-Identifier: Apache-2.0
#include "config/selector_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::config {

absl::StatusOr<collective::SelectorTable> ConfiguredChoices(const v1::SelectorConfig& config) {
  if (config.choices_size() > kMaxConfiguredChoices) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", config.choices_size(), " choices, at most ", kMaxConfiguredChoices));
  }
  collective::SelectorTable table;
  for (const v1::AlgorithmChoice& choice : config.choices()) {
    const auto op = collective::ParseOperation(choice.operation());
    if (!op.ok()) return op.status();
    const auto algorithm = collective::ParseAlgorithm(choice.algorithm());
    if (!algorithm.ok()) return algorithm.status();
    const auto known = collective::AlgorithmsFor(*op);
    if (std::find(known.begin(), known.end(), *algorithm) == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(choice.algorithm(), " cannot carry ", choice.operation()));
    }
    if (choice.max_ranks() > collective::kMaxSelectorRanks) {
      return absl::InvalidArgumentError(absl::StrCat("max_ranks ", choice.max_ranks(), " is above ",
                                                     collective::kMaxSelectorRanks));
    }
    collective::SelectorRow row;
    row.op = *op;
    row.algorithm = *algorithm;
    if (choice.max_bytes() != 0) row.max_bytes = choice.max_bytes();
    if (choice.max_ranks() != 0) row.max_ranks = static_cast<int>(choice.max_ranks());
    table.push_back(row);
  }
  return table;
}

}  // namespace caravan::config
