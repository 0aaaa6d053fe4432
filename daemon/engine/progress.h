// SPDX-License-Identifier: Apache-2.0
//
// What a communicator has done: whether anything changed since somebody looked, when an operation
// last moved, and how many bytes and records there were. All of it is counted here and nowhere
// else.
#ifndef CARAVAN_DAEMON_ENGINE_PROGRESS_H_
#define CARAVAN_DAEMON_ENGINE_PROGRESS_H_

#include <algorithm>
#include <cstdint>

#include "collective/plan/plan.h"

namespace caravan::engine {

// One operation's share. Only Progress writes it.
class OperationProgress {
 public:
  int64_t moved_ns() const { return moved_ns_; }  // steady clock; 0: not yet
  const collective::Counters& counted() const { return counted_; }

 private:
  friend class Progress;
  int64_t moved_ns_ = 0;
  collective::Counters counted_;
};

// Not thread-safe: it belongs to the communicator's reactor.
class Progress {
 public:
  // `now_ns`: steady clock. All that moves until the next call moves at that time.
  void BeginTurn(int64_t now_ns) {
    now_ns_ = now_ns;
    if (oldest_since_ns_ == 0) oldest_since_ns_ = now_ns;
  }
  int64_t now_ns() const { return now_ns_; }

  // Counts everything that could let a waiting lane go on, from 1: a lane that found nothing to do
  // keeps the count, and does not look again while it is the same.
  uint64_t change() const { return change_; }
  void Changed() { ++change_; }

  // A step of the operation ran, or the operation may begin: others may have waited for it.
  void Moved(OperationProgress& operation) {
    operation.moved_ns_ = now_ns_;
    Changed();
  }
  // From now on another operation is the oldest, or none is.
  void OldestChanged() { oldest_since_ns_ = now_ns_; }
  // When the oldest became it, or the last one ended, or the first turn was; 0: no turn yet.
  int64_t oldest_since_ns() const { return oldest_since_ns_; }
  // Since when `oldest`, the oldest operation, has not moved.
  int64_t StillSince(const OperationProgress& oldest) const {
    return std::max(oldest_since_ns_, oldest.moved_ns_);
  }

  // Payload bytes of one record each.
  void CountSealed(OperationProgress& operation, uint64_t bytes) {
    for (collective::Counters* counters : {&operation.counted_, &counted_}) {
      counters->sealed += bytes;
      ++counters->records_sealed;
    }
  }
  void CountReceived(OperationProgress& operation, uint64_t bytes) {
    for (collective::Counters* counters : {&operation.counted_, &counted_}) {
      counters->received += bytes;
    }
  }
  void CountOpened(OperationProgress& operation, uint64_t bytes) {
    for (collective::Counters* counters : {&operation.counted_, &counted_}) {
      counters->opened += bytes;
      ++counters->records_opened;
    }
  }
  // The record is wholly in a socket, which no lane waits for by itself: the operation moved, and
  // the change count stays. `forwarded`: it was sent on as it came.
  void CountSent(OperationProgress& operation, uint64_t bytes, bool forwarded) {
    operation.moved_ns_ = now_ns_;
    for (collective::Counters* counters : {&operation.counted_, &counted_}) {
      counters->sent += bytes;
      ++counters->records_sent;
      if (forwarded) counters->forwarded += bytes;
    }
  }
  void CountTagFailure() { ++tag_failures_; }
  // An operation is complete, and counted what was planned for it.
  void CountCompleted(const collective::Counters& planned);

  const collective::Counters& counted() const { return counted_; }
  const collective::Counters& expected() const { return expected_; }  // of those complete
  uint64_t operations() const { return operations_; }                 // complete
  uint64_t tag_failures() const { return tag_failures_; }

 private:
  uint64_t change_ = 1;  // 0 is what a lane keeps that has not looked yet
  int64_t now_ns_ = 0;
  int64_t oldest_since_ns_ = 0;
  collective::Counters counted_;
  collective::Counters expected_;
  uint64_t operations_ = 0;
  uint64_t tag_failures_ = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_PROGRESS_H_
