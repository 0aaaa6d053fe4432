// SPDX-License-Identifier: Apache-2.0
//
// What to measure: nccl-tests' flags, and a few of ours.
#ifndef CARAVAN_BENCH_HARNESS_SETTINGS_H_
#define CARAVAN_BENCH_HARNESS_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::bench {

inline constexpr int kMaxRanks = 64;

struct Settings {
  uint64_t min_bytes = 1024;        // -b
  uint64_t max_bytes = 64 << 20;    // -e
  uint64_t step_factor = 4;         // -f; 0 where -i is given
  uint64_t step_bytes = 0;          // -i
  int iterations = 20;              // -n: timed, a round
  int warmup = 5;                   // -w: untimed, before each round
  int rounds = 3;                   // -N: variants take turns, a round each
  bool check = true;                // -c
  std::string type = "float";       // -d: half, bfloat16, float, double, int32, int64
  std::string redop = "sum";        // -o: sum, prod, min, max, avg
  std::string json;                 // -J: file to write
  int ranks = 2;                    // -r
  std::map<std::string, std::string> extra;  // "--engine" → "both"

  // From min_bytes to max_bytes, by factor or by step.
  std::vector<uint64_t> Sizes() const;
};

// `extra` names the long flags, each with a value, that this program knows, and their defaults.
// InvalidArgument names the flag; Cancelled, with the usage as its message, for --help.
absl::StatusOr<Settings> ParseSettings(int argc, char** argv,
                                       const std::map<std::string, std::string>& extra);

// "64", "64K", "1M", "1MiB", "2G" in bytes.
absl::StatusOr<uint64_t> ParseBytes(const std::string& text);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_HARNESS_SETTINGS_H_
