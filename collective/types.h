// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of collectives: operations, element types, reductions, algorithms, and the
// description of one operation that all ranks must agree on.
#ifndef CARAVAN_COLLECTIVE_TYPES_H_
#define CARAVAN_COLLECTIVE_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::collective {

// Wire values: they stand in record headers and in ring entries. Never renumber.
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

enum class DataType : uint8_t {
  kFloat16 = 1,
  kBfloat16 = 2,
  kFloat32 = 3,
  kFloat64 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kInt8 = 7,
  kUint8 = 8,
  kInt16 = 9,
  kUint16 = 10,
  kUint32 = 11,
  kUint64 = 12,
};

enum class ReduceOp : uint8_t { kSum = 1, kProd = 2, kMin = 3, kMax = 4, kAvg = 5 };

// kAuto: the selector chooses. Every rank of a communicator has the same selector table.
enum class Algorithm : uint8_t {
  kAuto = 0,
  kDirect = 1,           // every rank to every rank; sender keys where several read
  kRing = 2,             // ring reduce-scatter, or a chain to the root; a key per hop
  kRingForward = 3,      // ring with ciphertext forwarding (all-gather; second half of allreduce)
  kChainForward = 4,     // pipelined chain, ciphertext forwarded (broadcast)
  kDoublingForward = 5,  // recursive doubling, ciphertext forwarded (all-gather)
  kOneShot = 6,          // everyone opens every whole vector (small allreduce)
  kBinomialForward = 7,  // binomial tree, ciphertext forwarded (broadcast)
  kBruckForward = 8,     // Bruck, end-to-end pair keys, ciphertext forwarded (small all-to-all)
};

std::string_view Name(Operation op);    // "allreduce", "allgather", "reducescatter", …
std::string_view Name(DataType type);   // "f16", "bf16", "f32", "f64", "int8", "uint64", …
std::string_view Name(ReduceOp op);     // "sum", "prod", "min", "max", "avg"
std::string_view Name(Algorithm algo);  // "auto", "direct", "ring", "ring-forward", …
absl::StatusOr<Operation> ParseOperation(std::string_view name);
absl::StatusOr<DataType> ParseDataType(std::string_view name);
absl::StatusOr<ReduceOp> ParseReduceOp(std::string_view name);
absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view name);

size_t SizeOf(DataType type);     // bytes of one element; 0 for an unknown type
bool Reduces(Operation op);       // AllReduce, ReduceScatter, Reduce
bool HasRoot(Operation op);       // Broadcast, Gather, Scatter, Reduce
bool HasCounts(Operation op);     // AllGatherV, AllToAllV
bool CountsBlocks(Operation op);  // `count` is a block of a vector with one block a rank

// Where input and output lie when they share memory, by NCCL's conventions.
struct InPlace {
  bool allowed = true;
  uint64_t input = 0;  // bytes from the start of the shared memory
  uint64_t output = 0;

  friend bool operator==(const InPlace&, const InPlace&) = default;
};

// One operation as every rank must see it. `count` follows NCCL: elements of the input for
// AllReduce, Broadcast, Reduce, Send, Recv; of each rank's input for AllGather and Gather; of each
// rank's output for ReduceScatter and Scatter; of one block, one a rank, for AllToAll; 0 for
// Barrier. Where counts differ by rank it is their sum. A count of 0 is valid.
struct OperationSpec {
  Operation op = Operation::kAllReduce;
  DataType dtype = DataType::kFloat32;
  ReduceOp reduce = ReduceOp::kSum;
  uint16_t root = 0;  // Broadcast, Gather, Scatter, Reduce
  uint16_t peer = 0;  // Send: the destination; Recv: the source
  uint64_t count = 0;
  Algorithm algorithm = Algorithm::kAuto;
  int chunk_log2 = 17;  // chunks of 2^14 to 2^18 bytes
  // AllGatherV: elements that each rank contributes, the same vector on all ranks. AllToAllV:
  // elements that this rank sends to each. Blocks lie one after another in the order of ranks.
  std::vector<uint64_t> counts;
  std::vector<uint64_t> receive_counts;  // AllToAllV: elements that this rank gets from each

  friend bool operator==(const OperationSpec&, const OperationSpec&) = default;

  uint64_t bytes() const { return count * SizeOf(dtype); }
  // The bytes of the whole vector: all ranks' blocks where `count` is of one. AllToAllV: what this
  // rank sends.
  uint64_t WholeBytes(int size) const;
  // What the caller must provide; counts must have been validated.
  uint64_t InputBytes(int rank, int size) const;
  uint64_t OutputBytes(int rank, int size) const;
  InPlace InPlaceOffsets(int rank) const;

  // InvalidArgument: names the field that is out of range for `size` ranks.
  absl::Status Validate(int rank, int size) const;
  // What all ranks must have in common, encoded unambiguously; its SHA-256 prefix is in every
  // record header. Send and Recv of one pair encode alike. `algorithm` must be resolved.
  // AllGatherV's counts are all in it. AllToAllV's are not, since the two ends of a pair alone know
  // its count: there each header's payload size, chunk count and `last` say it, each end has its
  // own expectation of them, and a pair without elements still exchanges an empty record.
  std::string Canonical() const;
  // "allreduce(f32 × 1024, sum)": for error messages.
  std::string Describe() const;
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_TYPES_H_
