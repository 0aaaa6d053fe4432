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
#include "client/caravan.h"

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
  Algorithm algorithm = Algorithm::kAuto;
  CommunicatorOptions communicator;
};

// From -d, -o, --op, --algorithm, --suite, --chunk-log2 and --lanes. InvalidArgument names the
// flag.
absl::StatusOr<CollectiveOptions> ReadCollectiveOptions(const Settings& settings);

struct NodePlace {
  std::string runtime_dir;   // of this rank's daemon
  std::string root_address;  // of rank 0's
};

// Connects to every place. Errors of Node::Connect and Communicator::Create.
absl::StatusOr<std::unique_ptr<Rank>> MakeCollectiveRank(const Settings& settings,
                                                         const CollectiveOptions& options, int rank,
                                                         const std::vector<NodePlace>& places);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_COLLECTIVE_RANK_H_
