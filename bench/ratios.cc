// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::bench {
namespace {

using Samples = std::map<std::pair<int, uint64_t>, std::vector<double>>;

std::vector<Ratio> Medians(const Samples& samples) {
  std::vector<Ratio> ratios;
  for (const auto& [key, values] : samples) {
    ratios.push_back(
        {key.second, key.first, Quantile(values, 0.5), static_cast<int>(values.size())});
  }
  return ratios;
}

}  // namespace

void Measurements::Add(Contender contender, int round, const Row& row) {
  times_[contender][{row.ranks, row.bytes, round}] = row.p50;
}

std::vector<Ratio> Measurements::SecureOver(Contender other) const {
  Samples samples;
  const auto theirs = times_.find(other);
  const auto ours = times_.find(Contender::kSecure);
  if (theirs == times_.end() || ours == times_.end()) return {};
  for (const auto& [key, time] : theirs->second) {
    const auto mine = ours->second.find(key);
    if (mine == ours->second.end() || mine->second <= 0) continue;
    samples[{std::get<0>(key), std::get<1>(key)}].push_back(time / mine->second);
  }
  return Medians(samples);
}

std::vector<Ratio> Measurements::Times(Contender contender) const {
  Samples samples;
  const auto times = times_.find(contender);
  if (times == times_.end()) return {};
  for (const auto& [key, time] : times->second) {
    samples[{std::get<0>(key), std::get<1>(key)}].push_back(time);
  }
  return Medians(samples);
}

std::string ToJson(const std::vector<Ratio>& ratios) {
  std::string out = "[";
  for (const Ratio& ratio : ratios) {
    absl::StrAppend(&out, out.size() == 1 ? "" : ",",
                    absl::StrFormat("\n    {\"size\": %d, \"ranks\": %d, \"median\": %.4f, "
                                    "\"samples\": %d}",
                                    ratio.bytes, ratio.ranks, ratio.median, ratio.samples));
  }
  return out + "\n  ]";
}

}  // namespace caravan::bench
