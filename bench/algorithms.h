// SPDX-License-Identifier: Apache-2.0
//
// How well the selector chooses: every algorithm and `auto` in turns, round by round.
#ifndef CARAVAN_BENCH_ALGORITHMS_H_
#define CARAVAN_BENCH_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::bench {

struct Choice {
  std::string op;
  int ranks = 0;
  uint64_t bytes = 0;
  std::string chosen;     // by auto
  std::string best;       // the fixed one with the least median
  double auto_ratio = 0;  // time of auto over the best's
  double ratio = 0;       // the same of the chosen one as a fixed choice
  double best_us = 0;
};

// Ratios are of medians of one round, and the median over rounds counts. Which algorithm the best
// is, one half of the rounds says, and the other half what it takes, and the other way round: of
// several alike, the one with the luckiest rounds would else always seem better than the chosen.
//
// `times`: for each of `names` the times of all rounds, one after another, as many for each round.
// names[0] is "auto", which chose `chosen`. InvalidArgument: no such name, uneven times, no fixed
// one.
absl::StatusOr<Choice> JudgeChoice(const std::vector<std::string>& names,
                                   const std::vector<std::vector<double>>& times, int rounds,
                                   const std::string& chosen);

// A line, and back. InvalidArgument on anything else.
std::string FormatChoice(const Choice& choice);
absl::StatusOr<Choice> ParseChoice(const std::string& line);
// The worst ratios, and how many are above 1.10.
std::string SummarizeChoices(const std::vector<Choice>& choices);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_ALGORITHMS_H_
