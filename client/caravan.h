// SPDX-License-Identifier: Apache-2.0
//
// libcaravan: collectives over attested, encrypted links, through the local daemon.
//
//   auto node = caravan::Node::Connect();                          // the daemon of this machine
//   auto comm = caravan::Communicator::Create(**node, {"train", "10.0.0.1:7400"}, rank, size);
//   auto buffer = (*node)->Allocate(bytes);                        // shared with the daemon
//   float* x = (*buffer)->As<float>();
//   auto work = (*comm)->AllReduce(**buffer, count, caravan::DataType::kFloat32,
//                                  caravan::ReduceOp::kSum);
//   absl::Status status = work->Wait();
//
// The names and meanings are NCCL's. The library holds no key and does no cryptography. Operations
// are asynchronous; those of one communicator complete in the order of submission, and every rank
// must submit the same operations in the same order (Send and Recv: the same order per pair).
#ifndef CARAVAN_CLIENT_CARAVAN_H_
#define CARAVAN_CLIENT_CARAVAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace caravan {

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
enum class Algorithm : uint8_t {
  kAuto = 0,
  kDirect = 1,
  kRing = 2,
  kRingForward = 3,
  kChainForward = 4,
  kDoublingForward = 5,
  kOneShot = 6,
  kBinomialForward = 7,
  kBruckForward = 8,
};

size_t SizeOf(DataType type);  // bytes of one element

// Memory shared with the daemon: the only memory that operations take. Freed on destruction (the
// daemon keeps it until operations in flight have ended). Thread-compatible.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint8_t* data() = 0;
  virtual uint64_t size() const = 0;  // bytes
  virtual uint32_t id() const = 0;
  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(data());
  }
};

// A place in a buffer. `offset` in bytes.
struct BufferRef {
  BufferRef(Buffer& b, uint64_t at = 0) : buffer(&b), offset(at) {}  // NOLINT: implicit by design
  Buffer* buffer;
  uint64_t offset;
};

struct NodeOptions {
  // Folder of workload.sock and memory.sock. Empty: $CARAVAN_RUNTIME_DIR, else /run/caravan.
  std::string runtime_dir;
  absl::Duration timeout = absl::Seconds(10);
};

// A connection to the local daemon. The daemon ends this process's communicators when it goes
// away. Thread-safe.
class Node {
 public:
  // Unavailable: no daemon there. PermissionDenied: the daemon does not serve this user.
  static absl::StatusOr<std::unique_ptr<Node>> Connect(const NodeOptions& options = {});
  virtual ~Node() = default;
  // ResourceExhausted, with what is left, when over the application's share.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) = 0;
};

// One submitted operation. Cheap to copy; valid as long as its communicator.
class Work {
 public:
  // OK when the result is in place on this rank. The communicator's first failure otherwise: the
  // same on every rank. DeadlineExceeded when `deadline` passes first: the operation goes on.
  absl::Status Wait(absl::Time deadline = absl::InfiniteFuture()) const;
  // True once Wait() would not block.
  bool Test() const;

  class Impl;
  Work(std::shared_ptr<Impl> impl, uint64_t id) : impl_(std::move(impl)), id_(id) {}

 private:
  std::shared_ptr<Impl> impl_;
  uint64_t id_;
};

// Where the members meet: the same on every rank.
struct Rendezvous {
  std::string name;  // of the communicator, 1 to 128 bytes of UTF-8
  // Control address of rank 0's daemon, "10.0.0.1:7400"; empty: the store that the daemons'
  // configurations name knows it.
  std::string root_address;
};

struct CommunicatorOptions {
  absl::Duration create_timeout = absl::Seconds(60);
  absl::Duration deadline = absl::Seconds(30);  // an operation without progress for this long
  std::string suite;                            // "", "AES_256_GCM", "CHACHA20_POLY1305"
  int chunk_log2 = 17;                          // 14 to 18
  int lanes = 0;  // TCP connections per peer, 1 to 16; 0: as the root's daemon chooses
  // How many ranks share each node, like torchrun's --nproc-per-node: ranks 0 to n − 1 on the first
  // node, n to 2n − 1 on the next, … 1 to 64, divides the size. They exchange by memory, and send
  // and open for all of them together; Send and Recv take one rank a node.
  int ranks_per_node = 1;
};

// Thread-safe. Destruction ends it: outstanding operations of other ranks fail.
class Communicator {
 public:
  // Blocks until all ranks have joined and every pair is attested and confirmed, or
  // create_timeout. All ranks that wait get the same error; one that comes later waits for a new
  // attempt of all.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      Node& node, const Rendezvous& rendezvous, int rank, int size,
      const CommunicatorOptions& options = {});
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Counts are in elements, by NCCL's conventions; in place as in NCCL. ResourceExhausted when
  // 256 operations are outstanding; InvalidArgument when a range leaves its buffer; the first
  // failure once the communicator has failed.
  absl::StatusOr<Work> AllReduce(BufferRef buffer, uint64_t count, DataType type, ReduceOp op,
                                 Algorithm algorithm = Algorithm::kAuto);
  virtual absl::StatusOr<Work> AllReduce(BufferRef input, BufferRef output, uint64_t count,
                                         DataType type, ReduceOp op,
                                         Algorithm algorithm = Algorithm::kAuto) = 0;
  // `count` elements from each rank; output holds size × count.
  virtual absl::StatusOr<Work> AllGather(BufferRef input, BufferRef output, uint64_t count,
                                         DataType type, Algorithm algorithm = Algorithm::kAuto) = 0;
  // `count` elements to each rank; input holds size × count.
  virtual absl::StatusOr<Work> ReduceScatter(BufferRef input, BufferRef output, uint64_t count,
                                             DataType type, ReduceOp op,
                                             Algorithm algorithm = Algorithm::kAuto) = 0;
  virtual absl::StatusOr<Work> Broadcast(BufferRef input, BufferRef output, uint64_t count,
                                         DataType type, int root,
                                         Algorithm algorithm = Algorithm::kAuto) = 0;
  // The root gets the result; `output` is ignored elsewhere.
  virtual absl::StatusOr<Work> Reduce(BufferRef input, BufferRef output, uint64_t count,
                                      DataType type, ReduceOp op, int root,
                                      Algorithm algorithm = Algorithm::kAuto) = 0;
  // `count` elements from each rank; the root's output holds size × count and is ignored elsewhere.
  virtual absl::StatusOr<Work> Gather(BufferRef input, BufferRef output, uint64_t count,
                                      DataType type, int root) = 0;
  // `count` elements to each rank; the root's input holds size × count and is ignored elsewhere.
  virtual absl::StatusOr<Work> Scatter(BufferRef input, BufferRef output, uint64_t count,
                                       DataType type, int root) = 0;
  // `count` elements from each rank to each; both hold size × count. Not in place.
  virtual absl::StatusOr<Work> AllToAll(BufferRef input, BufferRef output, uint64_t count,
                                        DataType type, Algorithm algorithm = Algorithm::kAuto) = 0;
  // Counts differ by rank: one for each, blocks one after another in the order of ranks. The
  // counts are copied before these return. ResourceExhausted when as many such operations are
  // outstanding as their 1 MiB of shared memory holds (256 up to 256 ranks).
  // `counts[r]` elements from rank r, the same vector on every rank; output holds their sum.
  virtual absl::StatusOr<Work> AllGatherV(BufferRef input, BufferRef output,
                                          absl::Span<const uint64_t> counts, DataType type,
                                          Algorithm algorithm = Algorithm::kAuto) = 0;
  // `send_counts[r]` elements to rank r, `receive_counts[r]` from it. The two ends of a pair must
  // agree; where they do not, the communicator fails and the error names the pair. Not in place.
  virtual absl::StatusOr<Work> AllToAllV(BufferRef input, absl::Span<const uint64_t> send_counts,
                                         BufferRef output,
                                         absl::Span<const uint64_t> receive_counts,
                                         DataType type) = 0;
  virtual absl::StatusOr<Work> Send(BufferRef input, uint64_t count, DataType type, int peer) = 0;
  virtual absl::StatusOr<Work> Recv(BufferRef output, uint64_t count, DataType type, int peer) = 0;
  virtual absl::StatusOr<Work> Barrier() = 0;

  // NCCL's ncclCommSplit: members that give the same color make a communicator of their own, in
  // the order of key, then of rank here. Every rank calls it; kNoColor: none for this rank, and
  // null comes back. The new communicator has this one's options and keys of its own. Where ranks
  // share nodes, each node has as many in it, with consecutive numbers there.
  static constexpr int kNoColor = -1;
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) = 0;
  // NCCL's ncclCommShrink: the members that are not `excluded` make a communicator, in the order
  // of their ranks here, with keys of its own; this one may have failed. Each of them calls it with
  // the same ranks. It is refused that a node which was no member here takes part.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Shrink(absl::Span<const int> excluded) = 0;

  // OK, or the first failure of this communicator.
  virtual absl::Status AsyncError() const = 0;
  // Ends it on all ranks with `reason`. Idempotent, never blocks on a peer; the first reason wins.
  virtual void Abort(const std::string& reason) = 0;
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_CARAVAN_H_
