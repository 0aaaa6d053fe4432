// SPDX-License-Identifier: Apache-2.0
//
// For tests: communicators on a fake cluster, and faults in them.
#ifndef CARAVAN_DAEMON_SERVICE_CLUSTER_TESTING_H_
#define CARAVAN_DAEMON_SERVICE_CLUSTER_TESTING_H_

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/service/fake_cluster.h"
#include "gtest/gtest.h"

namespace caravan::service {

using CreateResult = absl::StatusOr<CommunicatorManager::Created>;

inline CreateOptions OptionsFor(int rank, int size) {
  CreateOptions options;
  options.name = "train";
  options.root_address = "10.0.0.1:7400";
  options.rank = rank;
  options.size = size;
  options.timeout = absl::Seconds(20);
  return options;
}

inline std::future<CreateResult> Start(FakeCluster& cluster, int node, CreateOptions options) {
  return std::async(std::launch::async, [&cluster, node, options] {
    return cluster[node].manager->Create(cluster[node].application, options);
  });
}

// All ranks at once; rank i on node i.
inline std::vector<uint64_t> StandUp(FakeCluster& cluster, int size, uint32_t lanes = 1) {
  std::vector<std::future<CreateResult>> creates;
  for (int i = 0; i < size; ++i) {
    CreateOptions options = OptionsFor(i, size);
    options.lanes = lanes;
    creates.push_back(Start(cluster, i, options));
  }
  std::vector<uint64_t> handles;
  for (auto& create : creates) {
    CreateResult result = create.get();
    EXPECT_TRUE(result.ok()) << result.status();
    handles.push_back(result.ok() ? result->handle : 0);
    EXPECT_EQ(result.ok() ? result->suite : "", "AES_256_GCM");
  }
  return handles;
}

inline std::string Text(const absl::Status& status) { return std::string(status.message()); }

inline engine::Fault MakeFault(int rank, int peer, absl::StatusCode code, std::string message) {
  engine::Fault fault;
  fault.code = code;
  fault.rank = static_cast<uint16_t>(rank);
  fault.peer = static_cast<uint16_t>(peer);
  fault.message = std::move(message);
  return fault;
}

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_CLUSTER_TESTING_H_
