// SPDX-License-Identifier: Apache-2.0
#include "collective/cost/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collective/cost/crossover.h"

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

TEST(DefaultTable, HasOneRoundForTheSmallAndFewBytesForTheLarge) {
  constexpr uint64_t kTiny = 64;
  constexpr uint64_t kLong = 64 << 20;
  EXPECT_EQ(Chosen(Operation::kAllReduce, kTiny, 2), Algorithm::kOneShot);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kTiny, 8), Algorithm::kOneShot);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kLong, 2), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllReduce, kLong, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGather, kLong, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kAllGather, kTiny, 300), Algorithm::kDoublingForward);
  EXPECT_EQ(Chosen(Operation::kReduceScatter, kLong, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kTiny, 64), Algorithm::kBinomialForward);
  EXPECT_EQ(Chosen(Operation::kBroadcast, kLong, 16), Algorithm::kChainForward);
  EXPECT_EQ(Chosen(Operation::kReduce, kTiny, 8), Algorithm::kDirect);
  EXPECT_EQ(Chosen(Operation::kReduce, kLong, 8), Algorithm::kRing);
  EXPECT_EQ(Chosen(Operation::kAllToAll, 8, 64), Algorithm::kBruckForward);
  EXPECT_EQ(Chosen(Operation::kAllToAll, kLong, 64), Algorithm::kDirect);
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
      const bool choice = AlgorithmsFor(static_cast<Operation>(op)).size() > 1;
      EXPECT_THAT(selection->reason,
                  HasSubstr(choice ? "of the table" : "nothing else carries it"));
      EXPECT_EQ(*Resolve(Spec(static_cast<Operation>(op), op == 7 ? 0 : 1000000), size,
                         DefaultSelectorTable()),
                selection->algorithm);
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

TEST(ParseSelectorTable, GivesBackWhatWasEncoded) {
  for (const SelectorTable& table :
       {SelectorTable{}, DefaultSelectorTable(), DeriveTable(Rates{}, 4),
        SelectorTable{{Operation::kBarrier, 0, 1, Algorithm::kDirect}}}) {
    const auto parsed = ParseSelectorTable(Canonical(table));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, table);
    EXPECT_EQ(Canonical(*parsed), Canonical(table));
  }
}

TEST(ParseSelectorTable, HasAFixedEncoding) {
  const SelectorTable table = {
      {Operation::kAllGather, 0x0102030405060708, 0x090a, Algorithm::kRingForward}};
  EXPECT_EQ(Canonical(table), std::string("\1\0\0\0\2\3\x0a\x09\0\0\x08\7\6\5\4\3\2\1", 18));
}

TEST(ParseSelectorTable, RefusesWhatIsNoTable) {
  const SelectorTable one = {{Operation::kAllReduce, 100, 4, Algorithm::kRing}};
  const std::string good = Canonical(one);
  const auto refused = [](const std::string& text) {
    const auto parsed = ParseSelectorTable(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(parsed.status().message());
  };
  const auto with = [&good](size_t at, char value) {
    std::string text = good;
    text[at] = value;
    return text;
  };
  for (size_t size = 0; size < good.size(); ++size) refused(good.substr(0, size));
  EXPECT_THAT(refused(good + "x"), HasSubstr("15 bytes of rows, expected 14"));
  EXPECT_THAT(refused(with(4, 0)), HasSubstr("row 0"));         // no operation
  EXPECT_THAT(refused(with(4, 77)), HasSubstr("row 0"));        // an unknown one
  EXPECT_THAT(refused(with(5, 0)), HasSubstr("row 0"));         // auto
  EXPECT_THAT(refused(with(5, 4)), HasSubstr("cannot carry"));  // a broadcast's
  EXPECT_THAT(refused(with(6, 0)), HasSubstr("0 ranks"));
  EXPECT_THAT(refused(with(8, 1)), HasSubstr("65540 ranks"));
  EXPECT_THAT(refused(Canonical(SelectorTable(kMaxSelectorRows + 1))), HasSubstr("rows"));
  EXPECT_THAT(refused(std::string("\xff\xff\xff\xff", 4)), HasSubstr("rows"));
}

}  // namespace
}  // namespace caravan::collective
