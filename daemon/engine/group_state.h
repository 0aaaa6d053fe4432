// SPDX-License-Identifier: Apache-2.0
//
// What the parts of one communicator share: its members' lanes, keys, memory, and the operations
// outstanding. Only the engine's thread touches it.
#ifndef CARAVAN_DAEMON_ENGINE_GROUP_STATE_H_
#define CARAVAN_DAEMON_ENGINE_GROUP_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collective/islands/islands.h"
#include "daemon/engine/held_records.h"
#include "daemon/engine/lane.h"
#include "daemon/engine/op_keys.h"
#include "daemon/engine/operation.h"
#include "daemon/engine/progress.h"
#include "daemon/engine/sequences.h"
#include "daemon/engine/types.h"
#include "daemon/engine/window.h"
#include "daemon/engine/wire_buffer.h"

namespace caravan::engine {

class GroupState {
 public:
  GroupState(GroupConfig config, const EngineOptions& options);
  ~GroupState();
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  // Its keys and lanes were moved to where they are used.
  const GroupConfig& config() const { return config_; }
  const collective::Islands& islands() const { return islands_; }
  uint32_t lanes_per_peer() const { return lanes_per_peer_; }
  // "rank 2 (node-b)", or "ranks 4-5 (node-b)" where they share a node.
  std::string NameOf(uint16_t rank) const;
  std::string RanksOf(uint16_t rank) const;  // the same without the node

  const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  const GroupKeys& keys() const { return keys_; }
  // The communicator has ended: no record goes or comes any more.
  void CloseLanes() { lanes_.clear(); }
  void WipeKeys() { keys_.Wipe(); }

  OperationWindow& window() { return window_; }
  const OperationWindow& window() const { return window_; }
  bool IsOldest(const Operation& operation) const {
    return operation.submission.id == window_.begin();
  }
  Sequences& sequences() { return sequences_; }
  const Sequences& sequences() const { return sequences_; }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }
  HeldRecords& held() { return held_; }
  const HeldRecords& held() const { return held_; }
  // The first `bytes` of one chunk of plaintext; only this thread reads it.
  absl::Span<uint8_t> Scratch(uint32_t bytes) { return {scratch_.get(), bytes}; }

  // Before each seal and open.
  void BeforeStep(const Operation& operation, uint32_t step) const {
    if (step_hook_) step_hook_(config_.rank, operation.sequence, operation.plan().steps[step]);
  }
  // A record of `segment` is wholly in the socket.
  void Sent(const Lane& lane, const Segment& segment);

  // Records the first fault; the group's parts stop at once when there is one.
  void Raise(absl::StatusCode code, uint16_t peer, const Operation* operation, uint16_t phase,
             uint32_t chunk, absl::string_view what, absl::string_view word);
  // More of the fault that was just raised: the peer runs another operation, or who was waited for.
  void TellMismatch() { fault_->mismatch = true; }
  void TellWait(absl::Duration waited, std::vector<uint16_t> waits_for);
  bool faulted() const { return fault_.has_value(); }
  const Fault& fault() const { return *fault_; }  // there must be one

  uint64_t memory_bytes() const;

 private:
  GroupConfig config_;
  const collective::Islands islands_;
  GroupKeys keys_;
  uint32_t lanes_per_peer_ = 1;
  HeldRecords held_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  OperationWindow window_;
  AlignedBytes scratch_;
  Sequences sequences_;
  Progress progress_;
  std::optional<Fault> fault_;
  const StepHook step_hook_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_GROUP_STATE_H_
