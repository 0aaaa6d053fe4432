// SPDX-License-Identifier: Apache-2.0
//
// One operation's arguments, checked and turned into a ring entry. Pure.
#ifndef CARAVAN_CLIENT_OPERATION_H_
#define CARAVAN_CLIENT_OPERATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "caravan/caravan.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::client {

// Wire values, by collective/types.h.
enum class Operation : uint8_t {
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kSend = 5,
  kRecv = 6,
  kBarrier = 7,
  kAllGatherV = 8,
  kGather = 9,
  kScatter = 10,
  kReduce = 11,
  kAllToAll = 12,
  kAllToAllV = 13,
};

// A place in a buffer; id 0: the operation has none.
struct Place {
  uint32_t id = 0;
  uint64_t size = 0;    // of the buffer, in bytes
  uint64_t offset = 0;  // bytes
};

struct Arguments {
  Operation op = Operation::kBarrier;
  DataType dtype = DataType::kFloat32;
  ReduceOp reduce = ReduceOp::kSum;
  Algorithm algorithm = Algorithm::kAuto;
  int root = 0;
  int peer = 0;
  uint64_t count = 0;  // where counts differ by rank: set to their sum by BuildEntry
  Place input;
  Place output;
  absl::Span<const uint64_t> counts;          // AllGatherV; AllToAllV: what this rank sends
  absl::Span<const uint64_t> receive_counts;  // AllToAllV
};

// InvalidArgument names the operation and the argument: an unknown enumerator, a root or a peer
// that is no rank, counts that are not one a rank or overflow, a range that leaves its buffer, or
// input and output that overlap other than in place as in NCCL. The entry's id is left 0, and so is
// the place of its counts.
absl::StatusOr<v1::SubmitEntry> BuildEntry(const Arguments& arguments, int rank, int size);

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_OPERATION_H_
