// SPDX-License-Identifier: Apache-2.0
//
// What a rank, or all ranks that share a node, asked for, once it was checked.
#ifndef CARAVAN_DAEMON_ENGINE_SUBMISSION_H_
#define CARAVAN_DAEMON_ENGINE_SUBMISSION_H_

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "collective/types.h"
#include "daemon/engine/shared_memory.h"

namespace caravan::engine {

// One local rank's side of an operation.
struct LocalPart {
  collective::OperationSpec spec;  // algorithm resolved
  std::shared_ptr<SharedMemory> input_memory;
  std::shared_ptr<SharedMemory> output_memory;
  uint8_t* input = nullptr;   // null when nothing is read
  uint8_t* output = nullptr;  // null when nothing is written
};

// Checked ring entries: of one rank, or of all that share the node, in their order.
struct Submission {
  uint64_t id = 0;
  absl::InlinedVector<LocalPart, 1> parts;

  const collective::OperationSpec& spec() const { return parts.front().spec; }
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SUBMISSION_H_
