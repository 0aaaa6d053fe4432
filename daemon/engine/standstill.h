// SPDX-License-Identifier: Apache-2.0
//
// How long a communicator's oldest operation has stood still, when that is too long, and whom it
// waits for.
#ifndef CARAVAN_DAEMON_ENGINE_STANDSTILL_H_
#define CARAVAN_DAEMON_ENGINE_STANDSTILL_H_

#include <cstdint>
#include <vector>

#include "daemon/engine/group_state.h"
#include "daemon/engine/submissions.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

class Standstill {
 public:
  // Both outlive it.
  Standstill(GroupState& state, const Submissions& submissions)
      : state_(state), submissions_(submissions) {}

  // When the oldest operation's time is up (steady clock), or INT64_MAX.
  int64_t deadline_ns() const;
  // Raises the fault that names whom the oldest operation waits for, where its time is up.
  void Check();
  // What the oldest operation, or a local rank, waits for.
  Wait Describe(int64_t now_ns);

 private:
  // When the oldest outstanding operation last moved.
  int64_t oldest_moved_ns() const;
  const std::vector<uint16_t>& PeersWaitedFor(int64_t now_ns);

  GroupState& state_;
  const Submissions& submissions_;
  // Whom the oldest operation waited for when somebody asked.
  struct Seen {
    int64_t moved_ns = 0;
    int64_t seen_ns = 0;
    std::vector<uint16_t> peers;
  } seen_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_STANDSTILL_H_
