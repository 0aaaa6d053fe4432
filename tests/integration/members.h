// SPDX-License-Identifier: Apache-2.0
//
// For tests: the applications of a cluster as threads of the test, a rank each.
#ifndef CARAVAN_TESTS_INTEGRATION_MEMBERS_H_
#define CARAVAN_TESTS_INTEGRATION_MEMBERS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "caravan/caravan.h"
#include "tests/integration/cluster.h"

namespace caravan::testing {

using CommunicatorOr = absl::StatusOr<std::unique_ptr<Communicator>>;

// One application: its node and a communicator.
struct Member {
  std::unique_ptr<Node> node;
  std::unique_ptr<Communicator> communicator;

  // Sums `count` floats over all ranks and checks each.
  absl::Status Sum(uint64_t count = 1000) const;
};

// Runs task(0) … task(count - 1) at once.
void AtOnce(size_t count, const std::function<void(size_t)>& task);

// Connects rank i to node i / per_node. Communicators are not made.
std::vector<Member> ConnectMembers(const Cluster& cluster, int size, int per_node = 1);
// A communicator of all. An empty `root`: by the store.
void StandUp(std::vector<Member>& members, const std::string& root, const std::string& name,
             const CommunicatorOptions& options = {});

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_MEMBERS_H_
