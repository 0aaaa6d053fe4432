// SPDX-License-Identifier: Apache-2.0
//
// A communicator whose members are members of another one: what follows from the parent's roster.
// Pure.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_LINEAGE_H_
#define CARAVAN_DAEMON_MEMBERSHIP_LINEAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "crypto/key_tree.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

struct Lineage {
  std::string name;                // of the new communicator: the same on all its ranks
  std::string root_address;        // of its rank 0
  std::vector<std::string> spkis;  // of its nodes, in the order of the new ranks
  uint32_t ranks_per_node = 1;
};

// `epoch` is the parent's: parents of one name have children of different ones. `members`: ranks of
// the parent, in the order of the new ranks; `rank` is the new one of the parent's `parent_rank`.
// InvalidArgument names the field: where ranks share nodes, each node has as many among them, with
// consecutive new numbers.
absl::StatusOr<Lineage> TraceLineage(const v1::Roster& parent, const crypto::EpochId& epoch,
                                     uint32_t parent_rank, const std::vector<uint32_t>& members,
                                     uint32_t rank);

// PermissionDenied when a member of `roster` is another node than it was in the parent.
absl::Status CheckLineage(const Lineage& lineage, const v1::Roster& roster);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_LINEAGE_H_
