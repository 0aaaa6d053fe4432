// SPDX-License-Identifier: Apache-2.0
#include "collective/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace caravan::collective {
namespace {

using testing::HasSubstr;

OperationSpec Spec(Operation op, uint64_t count) {
  OperationSpec spec;
  spec.op = op;
  spec.count = count;
  return spec;
}

Algorithm Chosen(Operation op, uint64_t count, int size) {
  const auto selection = Select(Spec(op, count), size, DefaultSelectorTable());
  EXPECT_TRUE(selection.ok()) << selection.status();
  return selection.ok() ? selection->algorithm : Algorithm::kAuto;
}

TEST(DefaultTable, IsDirectForFewRanksAndForwardsForMany) {
  constexpr uint64_t kTiny = 256;
  constexpr uint64_t kShort = 2000;
  constexpr uint64_t kLong = 64 << 20;
  EXPECT_EQ(Chosen(Operation::kAllReduce, kTiny, 8), Algorithm::kOneShot);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kTiny, 9), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kShort, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kShort, 4), Algorithm::kOneShot);
  EXPECT_EQ(Chosen(Operation::kAllReduce, 2 * kShort * kShort, 2), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kLong, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kShort, 64), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kLong, 9), Algorithm::kRingForward);
  EXPECT_EQ(Chosen(Operation::kAllGather, kLong, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGather, kLong, 9), Algorithm::kRingForward);
  EXPECT_EQ(Chosen(Operation::kAllGather, kTiny, 32), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGather, kTiny, 33), Algorithm::kDoublingForward);
  EXPECT_EQ(Chosen(Operation::kReduceScatter, kLong, 32), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kReduceScatter, kLong, 33), Algorithm::kRing);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kShort, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kShort, 16), Algorithm::kBinomialForward);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kLong, 2), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kLong, 3), Algorithm::kChainForward);
  EXPECT_EQ(Chosen(Operation::kReduce, kShort, 16), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kReduce, kLong, 2), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kReduce, kLong, 3), Algorithm::kRing);
  EXPECT_EQ(Chosen(Operation::kAllToAll, 8, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllToAll, 8, 9), Algorithm::kBruckForward);
  EXPECT_EQ(Chosen(Operation::kAllToAll, kLong, 9), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGatherV, kLong, 32), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGatherV, kLong, 33), Algorithm::kDoublingForward);
  EXPECT_EQ(Chosen(Operation::kSend, kLong, 3), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kBarrier, 0, 300), Algorithm::kDirect);
}

TEST(DefaultTable, CoversEveryOperationAtEverySize) {
  for (const SelectorRow& row : DefaultSelectorTable()) {
    const auto known = AlgorithmsFor(row.op);
    EXPECT_NE(std::find(known.begin(), known.end(), row.algorithm), known.end());
  }
  for (int op = 1; op <= 13; ++op) {
    for (const int size : {1, 2, 65534}) {
      const auto selection = Select(Spec(static_cast<Operation>(op), op == 7 ? 0 : 1000000), size,
                                    DefaultSelectorTable());
      ASSERT_TRUE(selection.ok());
      EXPECT_THAT(selection->reason, HasSubstr("of the table"));
    }
  }
}

TEST(Select, TakesTheFirstRowThatFits) {
  const SelectorTable table = {{Operation::kAllReduce, 100, 4, Algorithm::kRing},
                               {Operation::kAllReduce, 1000, 4, Algorithm::kRingForward}};
  EXPECT_EQ(Select(Spec(Operation::kAllReduce, 25), 4, table)->algorithm, Algorithm::kRing);
  EXPECT_EQ(Select(Spec(Operation::kAllReduce, 26), 4, table)->algorithm, Algorithm::kRingForward);
  const auto none = Select(Spec(Operation::kAllReduce, 25), 5, table);
  EXPECT_EQ(none->algorithm, Algorithm::kDirect);
  EXPECT_THAT(none->reason, HasSubstr("no row of the table fits"));
}

TEST(Select, CountsTheWholeVectorOfBlocks) {
  const SelectorTable table = {{Operation::kAllGather, 1024, 65534, Algorithm::kRingForward}};
  EXPECT_EQ(Select(Spec(Operation::kAllGather, 64), 4, table)->algorithm, Algorithm::kRingForward);
  EXPECT_EQ(Select(Spec(Operation::kAllGather, 65), 4, table)->algorithm, Algorithm::kDirect);
}

TEST(Select, KeepsWhatWasAskedForWhenItFits) {
  OperationSpec spec = Spec(Operation::kAllReduce, 10);
  spec.algorithm = Algorithm::kRing;
  const auto selection = Select(spec, 4, DefaultSelectorTable());
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->algorithm, Algorithm::kRing);
  EXPECT_THAT(selection->reason, HasSubstr("ring: asked for; 6 rounds and crypto depth 6 against "
                                           "2 rounds and crypto depth 2 for direct"));
  spec.algorithm = Algorithm::kChainForward;
  EXPECT_EQ(Select(spec, 4, DefaultSelectorTable()).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(Select, RefusesATableThatNamesAnUnfitAlgorithm) {
  const SelectorTable table = {{Operation::kAllGather, UINT64_MAX, 8, Algorithm::kRing}};
  const auto selection = Select(Spec(Operation::kAllGather, 1), 4, table);
  EXPECT_EQ(selection.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(selection.status().message()), HasSubstr("row 0 of the table"));
}

TEST(Canonical, DiffersForEveryChangeOfTheTable) {
  SelectorTable table = DefaultSelectorTable();
  std::set<std::string> seen = {Canonical(table)};
  table[0].max_bytes -= 1;
  EXPECT_TRUE(seen.insert(Canonical(table)).second);
  table[0].max_ranks += 1;
  EXPECT_TRUE(seen.insert(Canonical(table)).second);
  table[0].algorithm = Algorithm::kRing;
  EXPECT_TRUE(seen.insert(Canonical(table)).second);
  std::swap(table[0], table[1]);
  EXPECT_TRUE(seen.insert(Canonical(table)).second);
  table.pop_back();
  EXPECT_TRUE(seen.insert(Canonical(table)).second);
}

}  // namespace
}  // namespace caravan::collective
