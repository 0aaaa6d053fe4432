// SPDX-License-Identifier: Apache-2.0
//
// What a rank, or all ranks that share a node, asked for, once it was checked.
#ifndef CARAVAN_DAEMON_ENGINE_SUBMISSION_H_
#define CARAVAN_DAEMON_ENGINE_SUBMISSION_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "collective/types.h"
#include "daemon/engine/buffer_ref.h"

namespace caravan::engine {

// One local rank's side of an operation.
struct LocalPart {
  collective::OperationSpec spec;  // algorithm resolved
  BufferRef input;                 // without memory when nothing is read
  BufferRef output;                // without memory when nothing is written
};

// Checked ring entries: of one rank, or of all that share the node, in their order.
struct Submission {
  uint64_t id = 0;
  absl::InlinedVector<LocalPart, 1> parts;

  const collective::OperationSpec& spec() const { return parts.front().spec; }
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SUBMISSION_H_
