// SPDX-License-Identifier: Apache-2.0
//
// The application's end of one communicator's rings (proto/caravan/v1/shared_ring.h): submits
// operations, gathers completions, and waits for them.
#ifndef CARAVAN_CLIENT_RING_H_
#define CARAVAN_CLIENT_RING_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "caravan/caravan.h"
#include "client/mapping.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::client {

// Thread-safe. The first failure ends it: every operation that has not succeeded by then, and
// every later one, has that failure.
class Ring {
 public:
  // Checks the header. Internal when it does not describe a ring of this version for this rank.
  // `wake_fd` is the eventfd that wakes the daemon; it outlives the ring.
  static absl::StatusOr<std::shared_ptr<Work::Impl>> Open(std::unique_ptr<Mapping> memory, int rank,
                                                          int size, int wake_fd);

  // Takes an entry without its id; returns the id. ResourceExhausted when kRingCapacity
  // operations are outstanding; the failure once the ring has failed.
  absl::StatusOr<uint64_t> Submit(v1::SubmitEntry entry);

  // The operation's outcome, or DeadlineExceeded.
  absl::Status Wait(uint64_t id, absl::Time deadline);
  bool Done(uint64_t id);

  absl::Status Failure();
  // Fails the ring on this side, for what the daemon can't report; wakes who waits. No effect
  // after a failure.
  void Fail(const absl::Status& reason);

 protected:
  Ring(std::unique_ptr<Mapping> memory, int wake_fd);

 private:
  // Takes over what the daemon has written since the last time. Needs mutex_.
  void Gather();
  void SetFailure(const absl::Status& reason);
  absl::Status ReportedFailure(uint32_t code);
  std::optional<absl::Status> Outcome(uint64_t id);
  bool Changed(uint64_t id) const;

  const std::unique_ptr<Mapping> memory_;
  v1::SharedRing& shared_;
  const int wake_fd_;
  std::mutex mutex_;
  uint64_t submitted_ = 0;  // these four: guarded by mutex_
  uint64_t completed_ = 0;
  uint64_t succeeded_ = 0;  // operations below this id are complete without a failure
  absl::Status failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace caravan::client

namespace caravan {

// One for all operations of a communicator.
class Work::Impl : public client::Ring {
 public:
  Impl(std::unique_ptr<client::Mapping> memory, int wake_fd) : Ring(std::move(memory), wake_fd) {}
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_RING_H_
