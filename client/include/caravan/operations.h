// SPDX-License-Identifier: Apache-2.0
//
// What each operation takes: one options object a call, with NCCL's conventions.
//
//   communicator.Reduce({.input = *x, .output = *y, .count = n, .type = DataType::kFloat32, .root =
//   2});
//
// Counts are in elements. `input` and `output` may be the same place where the operation is in
// place in NCCL, and must not overlap otherwise. What only the root reads or writes is ignored
// elsewhere and may be left out there.
#ifndef CARAVAN_CLIENT_INCLUDE_CARAVAN_OPERATIONS_H_
#define CARAVAN_CLIENT_INCLUDE_CARAVAN_OPERATIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "caravan/node.h"
#include "caravan/types.h"

namespace caravan {

struct AllReduceOptions {
  BufferRef input;   // count elements
  BufferRef output;  // count elements; left out: the result replaces the input
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  Algorithm algorithm = Algorithm::kAuto;
};

struct AllGatherOptions {
  BufferRef input;   // count elements
  BufferRef output;  // size × count elements, by rank
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  Algorithm algorithm = Algorithm::kAuto;
};

struct ReduceScatterOptions {
  BufferRef input;   // size × count elements, by rank
  BufferRef output;  // count elements
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  Algorithm algorithm = Algorithm::kAuto;
};

struct BroadcastOptions {
  BufferRef input;   // count elements, at the root
  BufferRef output;  // count elements
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  int root = 0;
  Algorithm algorithm = Algorithm::kAuto;
};

struct ReduceOptions {
  BufferRef input;   // count elements
  BufferRef output;  // count elements, at the root
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  Algorithm algorithm = Algorithm::kAuto;
};

struct GatherOptions {
  BufferRef input;   // count elements
  BufferRef output;  // size × count elements by rank, at the root
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  int root = 0;
};

struct ScatterOptions {
  BufferRef input;   // size × count elements by rank, at the root
  BufferRef output;  // count elements
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  int root = 0;
};

// Not in place.
struct AllToAllOptions {
  BufferRef input;   // size × count elements, by destination
  BufferRef output;  // size × count elements, by source
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  Algorithm algorithm = Algorithm::kAuto;
};

// The V forms take one count a rank, blocks one after another in the order of ranks. The counts are
// copied before the call returns.
struct AllGatherVOptions {
  BufferRef input;                    // counts[rank] elements
  BufferRef output;                   // their sum
  absl::Span<const uint64_t> counts;  // the same vector on every rank
  DataType type = DataType::kFloat32;
  Algorithm algorithm = Algorithm::kAuto;
};

// The two ends of a pair must agree; where they do not, the communicator fails and the error names
// the pair. Not in place.
struct AllToAllVOptions {
  BufferRef input;                            // the sum of send_counts
  BufferRef output;                           // the sum of receive_counts
  absl::Span<const uint64_t> send_counts;     // [r]: elements to rank r
  absl::Span<const uint64_t> receive_counts;  // [r]: elements from rank r
  DataType type = DataType::kFloat32;
};

struct SendOptions {
  BufferRef input;  // count elements
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  int peer = 0;  // another rank
};

struct RecvOptions {
  BufferRef output;  // count elements
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  int peer = 0;  // another rank
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_INCLUDE_CARAVAN_OPERATIONS_H_
