// SPDX-License-Identifier: Apache-2.0
//
// Turns a ring entry, which an application may have filled with anything, into a checked
// submission of its rank.
#ifndef CARAVAN_DAEMON_ENGINE_INTAKE_H_
#define CARAVAN_DAEMON_ENGINE_INTAKE_H_

#include "absl/status/statusor.h"
#include "collective/cost/selector.h"
#include "collective/islands/islands.h"
#include "daemon/engine/shared_memory.h"
#include "daemon/engine/submission.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {

struct IntakeRules {
  uint16_t rank = 0;
  collective::Islands islands;  // the communicator's ranks
  int chunk_log2 = 17;
  const collective::SelectorTable* selector = nullptr;
  const BufferTable* buffers = nullptr;
};

// InvalidArgument (or Unimplemented) names the field and what was expected, and ends in
// [APPLICATION_RING] or [APPLICATION_BUFFER]. Memory is checked before any plan is built: the
// size of a plan is bounded by the application's own buffers.
absl::StatusOr<Submission> CheckEntry(const v1::SubmitEntry& entry, const IntakeRules& rules);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_INTAKE_H_
