// SPDX-License-Identifier: Apache-2.0
//
// Seals records when a lane's socket can take them, in the order that plans ask for.
#ifndef CARAVAN_DAEMON_ENGINE_SENDER_H_
#define CARAVAN_DAEMON_ENGINE_SENDER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "daemon/engine/group_state.h"

namespace caravan::engine {

class Sender {
 public:
  explicit Sender(GroupState& state) : state_(state) {}

  // Moves what can be moved on `lane` without waiting. True when anything moved.
  bool Pump(Lane& lane);

 private:
  // The oldest operation that has still something to hand to `lane`, or null.
  Operation* Sending(Lane& lane);
  bool Fill(Lane& lane);
  // Whether the step may go as far as memory that lanes share goes.
  bool MayTake(const Operation& operation, uint32_t step) const;
  // Whether there is room in the lane's own buffers, where the record needs them.
  static bool HasRoom(const Lane& lane, const Operation& operation, uint32_t step);
  // For a step that both of the above allow. False on a fault.
  bool Enqueue(Lane& lane, Operation& operation, uint32_t step);
  bool Seal(Operation& operation, uint32_t step, absl::Span<uint8_t> record);

  GroupState& state_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SENDER_H_
