// SPDX-License-Identifier: Apache-2.0
//
// A plan, with what the engine looks up for each chunk worked out once: which lane, which key,
// which header fields, and the order in which each lane sends.
#ifndef CARAVAN_DAEMON_ENGINE_PROGRAM_H_
#define CARAVAN_DAEMON_ENGINE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/islands/islands.h"
#include "collective/plan/plan.h"
#include "collective/types.h"

namespace caravan::engine {

inline constexpr uint32_t kNone = UINT32_MAX;

// One op key that the plan uses, and for how many records.
struct KeySlot {
  bool seal = false;
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint32_t superchunk = 0;
  uint32_t uses = 0;
};

struct StepInfo {
  uint32_t key = kNone;  // index into keys(); kRelay has none
  uint32_t chunk_count = 1;
  bool last = false;
  uint32_t first_send = 0;  // one send a target
  uint32_t send_count = 0;
  uint32_t shared = kNone;   // kSeal to several targets: counts such steps
  uint32_t forward = kNone;  // steps that send on what they receive: counts such steps
  // kOpen, kRelay: the step of the same stream whose record comes before on this lane. Lanes are
  // FIFOs and senders take the lowest step first, so a record that overtakes it was moved by
  // somebody. kNone where a stream's chunks do not ascend in the plan (a ring's hops carry several
  // owners' blocks): their order depends on who is fast, and a record is bound to its place
  // whatever the order.
  uint32_t previous = kNone;
};

// One record to one peer. Sends of a lane are numbered in step order.
struct Send {
  uint32_t lane = 0;
  uint32_t item = 0;  // position in the lane's list
};

// What one lane has to do. `lane` indices are peer × lanes + lane; the last index of all stands
// for local copies.
struct LaneList {
  uint32_t first_item = 0;
  uint32_t items = 0;
  uint32_t first_word = 0;  // into an operation's ready bits
  uint32_t words = 0;
  uint32_t receives = 0;
};

class Program {
 public:
  // `views`: of the node's ranks, in their order.
  static absl::StatusOr<std::shared_ptr<const Program>> Build(
      const std::vector<collective::OperationSpec>& views, int node,
      const collective::Islands& islands, int lanes);

  const collective::Plan& plan() const { return *plan_; }
  const std::array<uint8_t, 8>& digest() const { return digest_; }
  const StepInfo& info(uint32_t step) const { return info_[step]; }
  const std::vector<KeySlot>& keys() const { return keys_; }
  const std::vector<Send>& sends() const { return sends_; }
  const std::vector<LaneList>& lanes() const { return lanes_; }
  uint32_t local_lane() const { return static_cast<uint32_t>(lanes_.size()) - 1; }
  uint32_t StepOfItem(uint32_t lane, uint32_t item) const {
    return item_step_[lanes_[lane].first_item + item];
  }
  uint32_t words() const { return words_; }
  uint32_t shared_steps() const { return shared_steps_; }
  uint32_t forward_steps() const { return forward_steps_; }
  // Lane that a kOpen or kRelay step's record arrives on.
  uint32_t ReceiveLane(const collective::Step& step) const {
    return step.via * lanes_per_peer_ + step.chunk % lanes_per_peer_;
  }

 private:
  Program() = default;
  void AddSends(uint32_t step, std::vector<std::vector<uint32_t>>& order);

  std::shared_ptr<const collective::Plan> plan_;
  std::array<uint8_t, 8> digest_{};
  uint32_t lanes_per_peer_ = 1;
  std::vector<StepInfo> info_;
  std::vector<KeySlot> keys_;
  std::vector<Send> sends_;
  std::vector<LaneList> lanes_;
  std::vector<uint32_t> item_step_;
  uint32_t words_ = 0;
  uint32_t shared_steps_ = 0;
  uint32_t forward_steps_ = 0;
};

// Programs of one communicator by specification, least recently used dropped first.
class ProgramCache {
 public:
  ProgramCache(int node, const collective::Islands& islands, int lanes)
      : node_(node), islands_(islands), lanes_(lanes) {}
  // `algorithm` is resolved in each of `views`.
  absl::StatusOr<std::shared_ptr<const Program>> Get(
      const std::vector<collective::OperationSpec>& views);

 private:
  const int node_;
  const collective::Islands islands_;
  const int lanes_;
  std::vector<std::shared_ptr<const Program>> recent_;  // most recent first
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_PROGRAM_H_
