// SPDX-License-Identifier: Apache-2.0
//
// Ratios between contenders that were measured in turns: one ratio a round, then the median.
#ifndef CARAVAN_BENCH_RATIOS_H_
#define CARAVAN_BENCH_RATIOS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/harness/table.h"

namespace caravan::bench {

enum class Contender { kSecure, kPlaintext, kGloo, kTls };

struct Ratio {
  uint64_t bytes = 0;
  int ranks = 0;
  double median = 0;  // above 1: the secure engine is faster
  int samples = 0;    // rounds
};

class Measurements {
 public:
  void Add(Contender contender, int round, const Row& row);
  // The other's median time over the secure engine's, by ranks and size. Rounds in which one of
  // the two is missing do not count.
  std::vector<Ratio> SecureOver(Contender other) const;
  // A contender's median times in seconds, by ranks and size.
  std::vector<Ratio> Times(Contender contender) const;

 private:
  using Key = std::tuple<int, uint64_t, int>;  // ranks, bytes, round
  std::map<Contender, std::map<Key, double>> times_;
};

// "[{"size": 1024, "ranks": 2, "median": 1.25, "samples": 3}, …]"
std::string ToJson(const std::vector<Ratio>& ratios);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_RATIOS_H_
