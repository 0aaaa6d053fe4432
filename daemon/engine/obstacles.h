// SPDX-License-Identifier: Apache-2.0
//
// Whom a communicator's oldest operation waits for at this rank.
#ifndef CARAVAN_DAEMON_ENGINE_OBSTACLES_H_
#define CARAVAN_DAEMON_ENGINE_OBSTACLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/engine/group_state.h"

namespace caravan::engine {

struct Obstacle {
  uint16_t peer = 0;
  uint16_t phase = 0;
  uint32_t chunk = 0;
  std::string what;  // "waiting for a record that rank 2 (node-c) has to send (sealed by rank 1)"
};

// One for each peer that the oldest operation cannot go on without: first those that owe a record
// which could be taken now, in the order of the plan, then those that take none. Who owes what has
// to wait here anyway is none. The own rank alone where there is no such peer; never empty. There
// must be an operation.
std::vector<Obstacle> FindObstacles(const GroupState& state);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_OBSTACLES_H_
