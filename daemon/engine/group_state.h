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
#include "collective/islands.h"
#include "daemon/engine/lane.h"
#include "daemon/engine/op_keys.h"
#include "daemon/engine/operation.h"
#include "daemon/engine/progress.h"
#include "daemon/engine/types.h"
#include "daemon/engine/window.h"
#include "daemon/engine/wire_buffer.h"

namespace caravan::engine {

struct GroupState {
  GroupState(GroupConfig group_config, const EngineOptions& options);
  ~GroupState();

  // Records the first fault; the group's parts stop at once when there is one.
  void Raise(absl::StatusCode code, uint16_t peer, const Operation* operation, uint16_t phase,
             uint32_t chunk, absl::string_view what, absl::string_view word);
  // "rank 2 (node-b)", or "ranks 4-5 (node-b)" where they share a node.
  std::string NameOf(uint16_t rank) const;
  std::string RanksOf(uint16_t rank) const;  // the same without the node
  bool faulted() const { return fault.has_value(); }
  bool IsOldest(const Operation& operation) const {
    return operation.submission.id == window.begin();
  }
  // Before each seal and open.
  void BeforeStep(const Operation& operation, uint32_t step) const {
    if (step_hook) step_hook(config.rank, operation.sequence, operation.plan().steps[step]);
  }
  // A record of `segment` is wholly in the socket.
  void Sent(const Lane& lane, const Segment& segment);
  uint64_t memory_bytes() const;

  GroupConfig config;  // its keys and lanes are moved to where they are used
  const collective::Islands islands;
  GroupKeys keys;
  uint32_t lanes_per_peer = 0;
  BufferPool pool;
  Budget shared_budget;   // records for several peers
  Budget forward_budget;  // records held to be forwarded
  std::vector<std::unique_ptr<Lane>> lanes;
  OperationWindow window;
  AlignedBytes scratch;                // one chunk of plaintext; only this thread reads it
  uint64_t next_collective = 0;        // sequence numbers
  std::vector<uint64_t> next_send;     // by destination
  std::vector<uint64_t> next_receive;  // by source
  Progress progress;
  std::optional<Fault> fault;
  const StepHook step_hook;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_GROUP_STATE_H_
