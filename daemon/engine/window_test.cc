// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/window.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

std::unique_ptr<Operation> Numbered(uint64_t sequence) {
  auto operation = std::make_unique<Operation>();
  operation->sequence = sequence;
  return operation;
}

TEST(OperationWindow, IsEmptyUntilAnOperationIsOutstanding) {
  OperationWindow window;
  EXPECT_TRUE(window.empty());
  window.Push(Numbered(7));
  EXPECT_FALSE(window.empty());
  EXPECT_EQ(window.begin(), 0u);
  EXPECT_EQ(window.end(), 1u);
  EXPECT_EQ(window.oldest().sequence, 7u);
}

TEST(OperationWindow, GivesOperationsBackInTheOrderOfTheirIds) {
  OperationWindow window;
  for (uint64_t i = 0; i < 3; ++i) window.Push(Numbered(i));
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(window.oldest().sequence, i);
    EXPECT_EQ(window.Pop()->sequence, i);
    EXPECT_EQ(window.begin(), i + 1);
  }
  EXPECT_TRUE(window.empty());
}

TEST(OperationWindow, KeepsAsManyAsARingHolds) {
  OperationWindow window;
  uint64_t next = 0;
  while (next < v1::kRingCapacity) window.Push(Numbered(next++));
  // Each that completes makes room for one more, whose slot is the one that became free.
  for (uint64_t round = 0; round < 3; ++round) {
    EXPECT_EQ(window.Pop()->sequence, round);
    window.Push(Numbered(next++));
    for (uint64_t id = window.begin(); id < window.end(); ++id) {
      ASSERT_EQ(window.Get(id)->sequence, id);
    }
  }
  EXPECT_EQ(window.end() - window.begin(), v1::kRingCapacity);
}

}  // namespace
}  // namespace caravan::engine
