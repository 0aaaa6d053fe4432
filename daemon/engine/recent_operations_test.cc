// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/recent_operations.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

collective::OperationSpec SpecOf(collective::Operation op, uint64_t count) {
  collective::OperationSpec spec;
  spec.op = op;
  spec.count = count;
  return spec;
}

TEST(RecentOperations, DescribesWhatWasSubmittedLately) {
  RecentOperations recent;
  const collective::OperationSpec spec = SpecOf(collective::Operation::kAllReduce, 1024);
  recent.Add(7, spec);
  EXPECT_EQ(*recent.Describe(7), spec.Describe());
  EXPECT_TRUE(absl::IsNotFound(recent.Describe(8).status()));
}

TEST(RecentOperations, MeansTheCollectiveWhereAPairHasTheSameNumber) {
  RecentOperations recent;
  const collective::OperationSpec collective_spec = SpecOf(collective::Operation::kAllGather, 5);
  recent.Add(0, SpecOf(collective::Operation::kSend, 1));
  EXPECT_EQ(*recent.Describe(0), SpecOf(collective::Operation::kSend, 1).Describe());
  recent.Add(0, collective_spec);
  recent.Add(0, SpecOf(collective::Operation::kRecv, 2));
  EXPECT_EQ(*recent.Describe(0), collective_spec.Describe());
}

TEST(RecentOperations, ForgetsTheOldest) {
  RecentOperations recent;
  for (uint64_t i = 0; i < 513; ++i) recent.Add(i, SpecOf(collective::Operation::kAllReduce, i));
  EXPECT_FALSE(recent.Describe(0).ok());
  EXPECT_TRUE(recent.Describe(1).ok());
  EXPECT_TRUE(recent.Describe(512).ok());
}

}  // namespace
}  // namespace caravan::engine
