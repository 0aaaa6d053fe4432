// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/members.h"

#include <thread>

#include "gtest/gtest.h"

namespace caravan::testing {

absl::Status Member::Sum(uint64_t count) const {
  auto buffer = node->Allocate(count * sizeof(float));
  if (!buffer.ok()) return buffer.status();
  float* values = (*buffer)->As<float>();
  const int size = communicator->size();
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(communicator->rank() + 1 + i % 127);
  }
  auto work =
      communicator->AllReduce({.input = **buffer, .count = count, .type = DataType::kFloat32});
  absl::Status status = work.ok() ? work->Wait() : work.status();
  if (!status.ok()) return status;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] != static_cast<float>(size * (size + 1) / 2 + size * (i % 127))) {
      return absl::DataLossError("a wrong sum");
    }
  }
  return absl::OkStatus();
}

void AtOnce(size_t count, const std::function<void(size_t)>& task) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back([&task, i] { task(i); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<Member> ConnectMembers(const Cluster& cluster, int size, int per_node) {
  std::vector<Member> members(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    NodeOptions options;
    options.runtime_dir = cluster.runtime_dir(i / per_node);
    auto node = Node::Connect(options);
    EXPECT_TRUE(node.ok()) << node.status();
    if (node.ok()) members[i].node = *std::move(node);
  }
  return members;
}

void StandUp(std::vector<Member>& members, const std::string& root, const std::string& name,
             const CommunicatorOptions& options) {
  AtOnce(members.size(), [&](size_t i) {
    auto made = Communicator::Create(*members[i].node, {name, root}, static_cast<int>(i),
                                     static_cast<int>(members.size()), options);
    EXPECT_TRUE(made.ok()) << "rank " << i << ": " << made.status();
    if (made.ok()) members[i].communicator = *std::move(made);
  });
}

}  // namespace caravan::testing
