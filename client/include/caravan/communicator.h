// SPDX-License-Identifier: Apache-2.0
//
// Communicators and the work submitted to them.
#ifndef CARAVAN_CLIENT_INCLUDE_CARAVAN_COMMUNICATOR_H_
#define CARAVAN_CLIENT_INCLUDE_CARAVAN_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "caravan/node.h"
#include "caravan/operations.h"
#include "caravan/types.h"

namespace caravan {

// One submitted operation. Cheap to copy; valid as long as its communicator.
class Work {
 public:
  class Impl;
  Work(std::shared_ptr<Impl> impl, uint64_t id) : impl_(std::move(impl)), id_(id) {}

  // OK when the result is in place on this rank. The communicator's first failure otherwise: the
  // same on every rank. DeadlineExceeded when `deadline` passes first: the operation goes on.
  absl::Status Wait(absl::Time deadline = absl::InfiniteFuture()) const;
  // True once Wait() would not block.
  bool Test() const;

 private:
  std::shared_ptr<Impl> impl_;
  uint64_t id_;
};

// Where the members meet: the same on every rank.
struct Rendezvous {
  std::string name;  // the communicator's, 1 to kMaxCommunicatorName bytes of UTF-8
  // Control address of rank 0's daemon, "10.0.0.1:7400"; empty: the store that the daemons'
  // configurations name knows it.
  std::string root_address;
};

struct CommunicatorOptions {
  absl::Duration create_timeout = absl::Seconds(60);
  absl::Duration deadline = absl::Seconds(30);  // an operation without progress for this long
  std::string suite;                            // "", "AES_256_GCM", "CHACHA20_POLY1305"
  int chunk_log2 = 17;                          // kMinChunkLog2 to kMaxChunkLog2
  int lanes = 0;  // TCP connections a peer, 1 to kMaxLanes; 0: as the root's daemon chooses
  // How many ranks share each node, like torchrun's --nproc-per-node: ranks 0 to n − 1 on the first
  // node, n to 2n − 1 on the next, … 1 to kMaxRanksPerNode, divides the size. They exchange by
  // memory, and send and open for all of them together; Send and Recv take one rank a node.
  int ranks_per_node = 1;
};

// Operations are asynchronous; those of one communicator complete in the order of submission, and
// every rank submits the same operations in the same order (Send and Recv: the same order per
// pair). Destruction ends it: outstanding operations of other ranks fail. Thread-safe.
class Communicator {
 public:
  // Blocks until all ranks have joined and every pair is attested and confirmed, or create_timeout.
  // All ranks that wait get the same error; one that comes later waits for a new attempt of all.
  // `size`: 1 to kMaxRanks.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      Node& node, const Rendezvous& rendezvous, int rank, int size,
      const CommunicatorOptions& options = {});

  class Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;

  // ResourceExhausted when kMaxOutstandingOperations are outstanding, or for the V forms when their
  // 1 MiB of shared memory for counts is used up (enough for all of them up to 256 ranks);
  // InvalidArgument when a range leaves its buffer; the first failure once the communicator has
  // failed.
  absl::StatusOr<Work> AllReduce(const AllReduceOptions& options);
  absl::StatusOr<Work> AllGather(const AllGatherOptions& options);
  absl::StatusOr<Work> ReduceScatter(const ReduceScatterOptions& options);
  absl::StatusOr<Work> Broadcast(const BroadcastOptions& options);
  absl::StatusOr<Work> Reduce(const ReduceOptions& options);
  absl::StatusOr<Work> Gather(const GatherOptions& options);
  absl::StatusOr<Work> Scatter(const ScatterOptions& options);
  absl::StatusOr<Work> AllToAll(const AllToAllOptions& options);
  absl::StatusOr<Work> AllGatherV(const AllGatherVOptions& options);
  absl::StatusOr<Work> AllToAllV(const AllToAllVOptions& options);
  absl::StatusOr<Work> Send(const SendOptions& options);
  absl::StatusOr<Work> Recv(const RecvOptions& options);
  absl::StatusOr<Work> Barrier();

  // ncclCommSplit: members that give the same color make a communicator of their own, in the order
  // of key, then of rank here. Every rank calls it; kNoColor: none for this rank, and null comes
  // back. The new communicator has this one's options and keys of its own. Where ranks share nodes,
  // each node has as many in it, with consecutive numbers there.
  static constexpr int kNoColor = -1;
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key);
  // ncclCommShrink: the members that are not `excluded` make a communicator, in the order of their
  // ranks here, with keys of its own; this one may have failed. Each of them calls it with the same
  // ranks. It is refused that a node which was no member here takes part.
  absl::StatusOr<std::unique_ptr<Communicator>> Shrink(absl::Span<const int> excluded);

  // OK, or the first failure of this communicator.
  absl::Status AsyncError() const;
  // Ends it on all ranks with `reason`. Idempotent, never blocks on a peer; the first reason wins.
  void Abort(const std::string& reason);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_INCLUDE_CARAVAN_COMMUNICATOR_H_
