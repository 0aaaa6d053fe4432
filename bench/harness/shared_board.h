// SPDX-License-Identifier: Apache-2.0
//
// What the ranks' processes share: a barrier, their times, their failures. Anonymous shared
// memory, mapped before the fork.
#ifndef CARAVAN_BENCH_HARNESS_SHARED_BOARD_H_
#define CARAVAN_BENCH_HARNESS_SHARED_BOARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::bench {

class SharedBoard {
 public:
  // Room for `samples` times of each of `ranks` ranks.
  static absl::StatusOr<SharedBoard*> Map(int ranks, int samples);

  // Waits for all ranks. Aborted when any of them has failed. Sleeps between looks after a short
  // spin, so that ranks may outnumber cores.
  absl::Status Barrier();

  // The first failure wins.
  void Fail(int rank, const absl::Status& status);
  bool failed() const { return failed_.load() != 0; }
  std::string message() const { return message_; }

  double* times(int rank) { return times_ + rank * samples_; }
  std::atomic<uint64_t>& wrong() { return wrong_; }

 private:
  int ranks_;
  int samples_;
  std::atomic<int> arrived_;
  std::atomic<uint32_t> generation_;
  std::atomic<int> failed_;         // 0 no, 1 being written, 2 written
  char message_[1024];
  std::atomic<uint64_t> wrong_;
  double times_[];
};

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_HARNESS_SHARED_BOARD_H_
