// SPDX-License-Identifier: Apache-2.0
//
// Results as rows: nccl-tests' columns, and ours.
#ifndef CARAVAN_BENCH_HARNESS_TABLE_H_
#define CARAVAN_BENCH_HARNESS_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::bench {

// One size, one variant. Times in seconds, of the slowest rank of each iteration.
struct Row {
  uint64_t bytes = 0;
  uint64_t count = 0;
  std::string type;
  std::string redop;
  int root = -1;
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double bus_factor = 1;  // busbw = algbw × this
  int64_t wrong = -1;     // elements; -1: not checked
  std::string suite;      // "AES_256_GCM/ipsec-mb", "plaintext", "gloo-ring"
  double over_plain = 0;  // p50 of the plaintext variant over this one's; 0: not measured
  uint64_t sealed = 0;    // bytes an operation, rank 0
  uint64_t opened = 0;
  int ranks = 0;
  int samples = 0;

  double algbw() const { return mean > 0 ? bytes / mean / 1e9 : 0; }  // GB/s
  double busbw() const { return algbw() * bus_factor; }
};

std::string TableHeader();
std::string FormatRow(const Row& row);
// The inverse of FormatRow(). InvalidArgument on anything else.
absl::StatusOr<Row> ParseRow(const std::string& line);

// {"rows": [{"size": …, …}, …]}
std::string ToJson(const std::vector<Row>& rows);
absl::Status WriteFile(const std::string& path, const std::string& text);

// The quantile of unsorted values; 0 where there are none. `q` from 0 to 1.
double Quantile(std::vector<double> values, double q);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_HARNESS_TABLE_H_
