// SPDX-License-Identifier: Apache-2.0
#include "bench/algorithms.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/harness/table.h"

namespace caravan::bench {
namespace {

constexpr double kGoal = 1.10;

// The median of each round.
std::vector<double> ByRound(const std::vector<double>& times, int rounds) {
  const size_t each = times.size() / static_cast<size_t>(rounds);
  std::vector<double> medians;
  for (auto at = times.begin(); at != times.end(); at += static_cast<std::ptrdiff_t>(each)) {
    medians.push_back(Quantile({at, at + static_cast<std::ptrdiff_t>(each)}, 0.5));
  }
  return medians;
}

// What one algorithm's rounds of one half were: the even or the odd ones; of one round, the same.
std::vector<double> Half(const std::vector<double>& rounds, size_t half) {
  std::vector<double> out;
  for (size_t i = half % rounds.size(); i < rounds.size(); i += 2) out.push_back(rounds[i]);
  return out;
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return Quantile(ratios, 0.5);
}

// The index of the fixed algorithm with the least median.
size_t Best(const std::vector<std::vector<double>>& rounds_of) {
  size_t best = 1;
  for (size_t i = 2; i < rounds_of.size(); ++i) {
    if (Quantile(rounds_of[i], 0.5) < Quantile(rounds_of[best], 0.5)) best = i;
  }
  return best;
}

// Over the best, where one half of the rounds says which that is, and the other what it takes.
double OverBest(const std::vector<std::vector<double>>& rounds_of, size_t index) {
  double product = 1;
  for (const size_t half : {0, 1}) {
    std::vector<std::vector<double>> known;
    for (const std::vector<double>& rounds : rounds_of) known.push_back(Half(rounds, half));
    const size_t best = Best(known);
    product *= MedianRatio(Half(rounds_of[index], 1 - half), Half(rounds_of[best], 1 - half));
  }
  return std::sqrt(product);
}

}  // namespace

absl::StatusOr<Choice> JudgeChoice(const std::vector<std::string>& names,
                                   const std::vector<std::vector<double>>& times, int rounds,
                                   const std::string& chosen) {
  if (names.size() < 2 || times.size() != names.size() || rounds < 1) {
    return absl::InvalidArgumentError("a choice is judged against fixed ones, each with its times");
  }
  std::vector<std::vector<double>> rounds_of;
  for (const std::vector<double>& of_one : times) {
    if (of_one.empty() || of_one.size() != times[0].size() || of_one.size() % rounds != 0) {
      return absl::InvalidArgumentError("not as many times for each algorithm and round");
    }
    rounds_of.push_back(ByRound(of_one, rounds));
  }
  const auto fixed = std::find(names.begin() + 1, names.end(), chosen);
  if (fixed == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", chosen, "\" was not measured"));
  }
  const size_t best = Best(rounds_of);
  Choice choice;
  choice.chosen = chosen;
  choice.best = names[best];
  choice.auto_ratio = OverBest(rounds_of, 0);
  choice.ratio = OverBest(rounds_of, static_cast<size_t>(fixed - names.begin()));
  choice.best_us = Quantile(rounds_of[best], 0.5) * 1e6;
  return choice;
}

std::string FormatChoice(const Choice& choice) {
  return absl::StrFormat("choice %-14s %3d %10u %-16s %-16s %6.2f %6.2f %12.1f\n", choice.op,
                         choice.ranks, choice.bytes, choice.chosen, choice.best, choice.auto_ratio,
                         choice.ratio, choice.best_us);
}

absl::StatusOr<Choice> ParseChoice(const std::string& line) {
  Choice choice;
  char op[32];
  char chosen[32];
  char best[32];
  if (std::sscanf(line.c_str(), "choice %31s %d %" SCNu64 " %31s %31s %lf %lf %lf", op,
                  &choice.ranks, &choice.bytes, chosen, best, &choice.auto_ratio, &choice.ratio,
                  &choice.best_us) != 8) {
    return absl::InvalidArgumentError("not a choice");
  }
  choice.op = op;
  choice.chosen = chosen;
  choice.best = best;
  return choice;
}

std::string SummarizeChoices(const std::vector<Choice>& choices) {
  if (choices.empty()) return "# nothing was measured\n";
  const auto worst = [&](double Choice::*ratio) {
    return *std::max_element(choices.begin(), choices.end(),
                             [&](const auto& a, const auto& b) { return a.*ratio < b.*ratio; });
  };
  const auto above = [&](double Choice::*ratio) {
    return std::count_if(choices.begin(), choices.end(),
                         [&](const Choice& choice) { return choice.*ratio > kGoal; });
  };
  std::string out;
  const auto append = [&](absl::string_view what, double Choice::*ratio) {
    const Choice at = worst(ratio);
    absl::StrAppendFormat(&out, "# %s: worst %.2f (%s, %d ranks, %u bytes), %d of %d above %.2f\n",
                          what, at.*ratio, at.op, at.ranks, at.bytes, above(ratio), choices.size(),
                          kGoal);
  };
  append("auto over the best fixed choice", &Choice::auto_ratio);
  append("what auto chose, as a fixed choice, over the best", &Choice::ratio);
  return out;
}

}  // namespace caravan::bench
