// SPDX-License-Identifier: Apache-2.0
//
// Runs one benchmark: a process a rank, variants that take turns, times of the slowest rank.
#ifndef CARAVAN_BENCH_HARNESS_RUNNER_H_
#define CARAVAN_BENCH_HARNESS_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/harness/settings.h"
#include "bench/harness/table.h"

namespace caravan::bench {

struct CryptoBytes {
  uint64_t sealed = 0;
  uint64_t opened = 0;
};

// One rank's side of a benchmark, in a process of its own.
class Rank {
 public:
  virtual ~Rank() = default;
  // How many elements an operation of about `bytes` (nccl-tests' size) has.
  virtual uint64_t Count(uint64_t bytes) const = 0;
  // nccl-tests' size of an operation of `count` elements, in bytes.
  virtual uint64_t Bytes(uint64_t count) const = 0;
  virtual double BusFactor() const = 0;
  virtual std::string Suite(int variant) const = 0;
  // Before operations of this variant and count: makes what can be made ahead of time.
  virtual absl::Status Prepare(int variant, uint64_t count) { return absl::OkStatus(); }
  // Writes the operation's input, where `variant` will read it.
  virtual void Fill(int variant, uint64_t count) = 0;
  virtual absl::Status Run(int variant, uint64_t count) = 0;
  // Elements of the last result that are wrong.
  virtual uint64_t CountWrong(int variant, uint64_t count) = 0;
  // Totals so far; zero where nothing is sealed.
  virtual absl::StatusOr<CryptoBytes> Crypto(int variant) { return CryptoBytes{}; }
};

struct Benchmark {
  int variants = 1;
  // The variant that `over_plain` compares with; -1: none.
  int plain_variant = -1;
  // Ranks enter every operation together. Without it a rank that is done early runs ahead, and a
  // broadcast shows how often it can be done, not how long one takes.
  bool together = false;
  // Print only each size's fastest variant (by median).
  bool fastest_only = false;
  // Called in rank 0's process with each size's times, by variant: round after round.
  std::function<void(Rank& rank, uint64_t count, const std::vector<std::vector<double>>& times)>
      on_size;
  // Called in the rank's own process.
  std::function<absl::StatusOr<std::unique_ptr<Rank>>(int rank)> make_rank;
};

// Forks `settings.ranks` processes (call it before any thread exists), prints rows as they come,
// writes settings.json. The first failure of a rank otherwise; the other ranks are then killed.
absl::Status RunBenchmark(const Settings& settings, const Benchmark& benchmark);

// RunBenchmark() as main()'s end: prints what went wrong, returns the exit code.
int ExitCode(const absl::Status& status, const char* program);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_HARNESS_RUNNER_H_
