// SPDX-License-Identifier: Apache-2.0
//
// The operations of a communicator that are outstanding.
#ifndef CARAVAN_DAEMON_ENGINE_WINDOW_H_
#define CARAVAN_DAEMON_ENGINE_WINDOW_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/engine/operation.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {

// Outstanding operations by id: at most a ring's capacity, completed in order.
class OperationWindow {
 public:
  uint64_t begin() const { return begin_; }  // the oldest outstanding
  uint64_t end() const { return end_; }
  bool empty() const { return begin_ == end_; }
  // `id` is in [begin, end).
  Operation* Get(uint64_t id) const { return slots_[id % v1::kRingCapacity].get(); }
  // There must be one.
  Operation& oldest() const { return *Get(begin_); }
  // Takes the id end(). There must be fewer than a ring's capacity.
  void Push(std::unique_ptr<Operation> operation) {
    slots_[end_++ % v1::kRingCapacity] = std::move(operation);
  }
  // Takes the oldest out. There must be one.
  std::unique_ptr<Operation> Pop() { return std::move(slots_[begin_++ % v1::kRingCapacity]); }

 private:
  std::array<std::unique_ptr<Operation>, v1::kRingCapacity> slots_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_WINDOW_H_
