// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/shared_board.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace caravan::bench {

absl::StatusOr<SharedBoard*> SharedBoard::Map(int ranks, int samples) {
  const size_t size = sizeof(SharedBoard) + sizeof(double) * ranks * samples;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", size, " shared bytes"));
  }
  // Fresh pages are zero, which is how every counter starts.
  SharedBoard* board = static_cast<SharedBoard*>(memory);
  board->ranks_ = ranks;
  board->samples_ = samples;
  return board;
}

absl::Status SharedBoard::Barrier() {
  const uint32_t generation = generation_.load();
  if (arrived_.fetch_add(1) + 1 == ranks_) {
    arrived_.store(0);
    generation_.fetch_add(1);
    return absl::OkStatus();
  }
  // Long enough awake that ranks leave together when they come within milliseconds.
  constexpr int kAwake = 2000;
  for (int look = 0; generation_.load() == generation; ++look) {
    if (failed()) return absl::AbortedError("another rank failed");
    if (look < kAwake) {
      sched_yield();
    } else {
      const timespec pause = {0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
  return absl::OkStatus();
}

void SharedBoard::Fail(int rank, const absl::Status& status) {
  int expected = 0;
  if (!failed_.compare_exchange_strong(expected, 1)) return;
  std::snprintf(message_, sizeof(message_), "rank %d: %s", rank, status.ToString().c_str());
  failed_.store(2);
}

}  // namespace caravan::bench
