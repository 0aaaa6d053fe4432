// SPDX-License-Identifier: Apache-2.0
//
// Records that no lane owns: sealed once for several peers, or held to be sent on. They take blocks
// of one pool, as many as two budgets allow, until the last peer has them.
#ifndef CARAVAN_DAEMON_ENGINE_HELD_RECORDS_H_
#define CARAVAN_DAEMON_ENGINE_HELD_RECORDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "daemon/engine/lane.h"
#include "daemon/engine/operation.h"
#include "daemon/engine/wire_buffer.h"

namespace caravan::engine {

class HeldRecords {
 public:
  // `record_size`: of the largest record.
  explicit HeldRecords(size_t record_size);

  // Whether `step` may be sealed now, as far as memory goes: it goes to one peer, is sealed
  // already, or there is a block for it.
  bool MayShare(const Operation& operation, uint32_t step, bool oldest) const;
  // A block for `step`, which goes to several peers, is not sealed yet, and may be.
  WireBuffer* Share(Operation& operation, uint32_t step);

  // Whether `step` may be received now, as far as memory goes: it is not sent on, or there is a
  // slot of its class and a block for it.
  bool MayHold(const Operation& operation, uint32_t step, bool oldest) const;
  // Keeps the record of `step`, which is at the front of `lane` and may be held.
  void Hold(Operation& operation, uint32_t step, Lane& lane, absl::Span<const uint8_t> record);

  // One peer has the record of a segment that no lane owns. True when it was the last, and the
  // block is free.
  bool Sent(const Segment& segment);

  // A plan with so many forward slots is about to run.
  void MakeRoomFor(uint32_t forward_slots) { forwards_.Raise(2 * forward_slots); }
  BufferPool& pool() { return pool_; }
  size_t record_size() const { return pool_.block_size(); }
  uint64_t bytes() const { return pool_.bytes(); }  // lanes' own blocks included

 private:
  BufferPool pool_;
  Budget shared_;
  Budget forwards_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_HELD_RECORDS_H_
