// SPDX-License-Identifier: Apache-2.0
//
// Hierarchical collectives: `local` ranks with consecutive numbers run on one node, an island of
// trusted memory. Between nodes records travel as between ranks: sealed once by their node, opened
// once, forwarded as they came. Within a node nothing is sealed: inputs are added up, and results
// copied, from buffer to buffer. Of a node's crypto each of its ranks pays a part.
//
//   one rail, any algorithm      AllReduce, Broadcast, Reduce, AllGather, AllGatherV, Barrier: the
//                                node takes part like one rank
//   a rail for each local rank   ReduceScatter, Gather, Scatter: ranks of equal position, direct
//   a rail for each pair of them AllToAll, AllToAllV: direct
//
// A rail is an ordinary plan among nodes; here its steps get the local ranks' memory, and local
// steps before and after them. Rails share lanes, so those that come in numbers are direct: their
// records wait for nothing that comes later on a lane.
#ifndef CARAVAN_COLLECTIVE_ISLANDS_ISLANDS_H_
#define CARAVAN_COLLECTIVE_ISLANDS_ISLANDS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "collective/types.h"

namespace caravan::collective {

inline constexpr int kMaxLocalRanks = 64;

struct Islands {
  int nodes = 1;
  int local = 1;  // ranks on each

  int ranks() const { return nodes * local; }
};

// Like Select(), for what the operation is between nodes. Unimplemented: Send and Recv where ranks
// share a node, and what needs direct rails by another algorithm.
absl::StatusOr<Selection> SelectFor(const OperationSpec& spec, const Islands& islands,
                                    const SelectorTable& table);

// The plan of node `node`; `views` are its ranks' views of the operation, in the order of ranks.
// InvalidArgument, naming both, where two of them contradict each other.
absl::StatusOr<std::shared_ptr<const Plan>> BuildIslandPlan(const std::vector<OperationSpec>& views,
                                                            int node, const Islands& islands);

// InvalidArgument where `view` of rank `rank` and `first` of rank `first_rank` are not one
// operation.
absl::Status CheckAlike(const OperationSpec& first, int first_rank, const OperationSpec& view,
                        int rank);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ISLANDS_ISLANDS_H_
