// SPDX-License-Identifier: Apache-2.0
//
// Takes records from lanes: each must be exactly the one that the oldest operation with something
// to come from that lane expects.
#ifndef CARAVAN_DAEMON_ENGINE_RECEIVER_H_
#define CARAVAN_DAEMON_ENGINE_RECEIVER_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "crypto/record.h"
#include "daemon/engine/group_state.h"

namespace caravan::engine {

class Receiver {
 public:
  explicit Receiver(GroupState& state) : state_(state) {}

  // Reads once and takes all whole records. True when anything moved.
  bool Turn(Lane& lane);

 private:
  enum class Match : uint8_t { kTaken, kWait, kFault };

  // The oldest operation that still expects a record from `lane`, or null.
  Operation* Receiving(Lane& lane);
  bool Parse(Lane& lane);
  // Fills lane.head from the header at the front.
  Match MatchHead(Lane& lane);
  Match MatchExpected(Lane& lane, Operation& operation, const crypto::RecordHeader& header);
  // Whether the step at the head may run now.
  bool MayRun(const Operation& operation, uint32_t step) const;
  // Opens the record and puts it in place. False on a fault.
  bool Open(Lane& lane, Operation& operation, uint32_t step, absl::Span<const uint8_t> record);
  bool Accept(Lane& lane, absl::Span<const uint8_t> record);
  void Place(Operation& operation, uint32_t step, absl::Span<const uint8_t> plaintext);
  // What is wrong with a record whose tag does not match, and who had it in hand.
  std::string DescribeBrokenTag(const Operation& operation, const collective::Step& step) const;
  // A whole record that belongs to another operation: finds out what it is and raises the fault.
  void Refuse(Lane& lane, absl::Span<const uint8_t> record);
  bool IsAuthentic(const crypto::RecordHeader& header, absl::Span<const uint8_t> record);
  bool IsPast(const Lane& lane, const crypto::RecordHeader& header) const;
  void CheckEnded(Lane& lane);

  GroupState& state_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_RECEIVER_H_
