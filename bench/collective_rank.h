// SPDX-License-Identifier: Apache-2.0
//
// One rank of collective_perf: an application of the daemons it is given, one a variant.
#ifndef CARAVAN_BENCH_COLLECTIVE_RANK_H_
#define CARAVAN_BENCH_COLLECTIVE_RANK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/runner.h"
#include "bench/harness/settings.h"
#include "caravan/caravan.h"
#include "collective/types.h"

namespace caravan::bench {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kSendRecv,
};

struct CollectiveOptions {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp redop = ReduceOp::kSum;
  // One a variant, or one for all. Where it is auto, engines of one run do what the first one's
  // table says, so that they run the same plan.
  std::vector<Algorithm> algorithms = {Algorithm::kAuto};
  CommunicatorOptions communicator;
};

// "all_reduce" to what the selector calls it.
collective::Operation OperationOf(CollectiveKind kind);

// From -d, -o, --op, --algorithm, --suite, --chunk-log2 and --lanes. InvalidArgument names the
// flag. --algorithm each: auto, then every algorithm that carries the operation.
absl::StatusOr<CollectiveOptions> ReadCollectiveOptions(const Settings& settings);

struct NodePlace {
  std::string runtime_dir;   // of this rank's daemon
  std::string root_address;  // of rank 0's
};

// Connects to every place. Variants are places, or, at one place, algorithms. Errors of
// Node::Connect and Communicator::Create.
absl::StatusOr<std::unique_ptr<Rank>> MakeCollectiveRank(const Settings& settings,
                                                         const CollectiveOptions& options, int rank,
                                                         const std::vector<NodePlace>& places);

// What auto chooses for `count` elements: of a rank that MakeCollectiveRank made.
Algorithm ChosenBy(const Rank& rank, uint64_t count);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_COLLECTIVE_RANK_H_
