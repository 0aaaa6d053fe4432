// SPDX-License-Identifier: Apache-2.0
//
// The daemon's side of a v1::SharedRing. The application can write all of it at any time: every
// entry is copied once and only the copy is looked at; indices are kept here.
#ifndef CARAVAN_DAEMON_ENGINE_RING_H_
#define CARAVAN_DAEMON_ENGINE_RING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/engine/shared_memory.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {

class Ring {
 public:
  // Lays out the ring. InvalidArgument when `memory` is too small.
  static absl::StatusOr<Ring> Create(std::shared_ptr<SharedMemory> memory, uint16_t rank,
                                     uint16_t size);

  // True when the application has submitted more than was taken.
  bool HasWork() const { return ring_->submit_tail.load(std::memory_order_seq_cst) != taken_; }
  // Copies the next entry. False when there is none. InvalidArgument, with the reason, when the
  // index moved beyond the capacity.
  absl::StatusOr<bool> Take(v1::SubmitEntry* entry);
  // The next entry's index, without looking at it: for a ring whose communicator has failed.
  bool Skip();
  bool CanSkip() const;
  void Complete(uint64_t id, absl::StatusCode code);  // visible after Publish()
  void Publish();                                     // wakes whoever waits
  void SetSleeping(bool sleeping);
  void MarkFailed(const absl::Status& reason);

  uint64_t taken() const { return taken_; }
  uint64_t completed() const { return completed_; }

 private:
  explicit Ring(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}
  uint64_t Room() const { return v1::kRingCapacity - (taken_ - completed_); }

  std::shared_ptr<SharedMemory> memory_;
  v1::SharedRing* ring_ = nullptr;
  uint64_t taken_ = 0;
  uint64_t completed_ = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_RING_H_
