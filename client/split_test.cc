// SPDX-License-Identifier: Apache-2.0
#include "client/split.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Split, GroupsByColorAndOrdersByKeyThenRank) {
  const std::vector<SplitChoice> choices = {{0, 5}, {1, 0}, {0, 3}, {-1, 0}, {0, 5}, {1, -7}};
  EXPECT_THAT(SplitMembers(choices, 0), ElementsAre(2, 0, 4));
  EXPECT_THAT(SplitMembers(choices, 1), ElementsAre(5, 1));
  EXPECT_THAT(SplitMembers(choices, 2), ElementsAre());
}

TEST(Shrink, KeepsTheOrderOfTheOthers) {
  EXPECT_THAT(*ShrinkMembers(5, 0, {3, 1}), ElementsAre(0, 2, 4));
  EXPECT_THAT(*ShrinkMembers(2, 1, {}), ElementsAre(0, 1));
}

TEST(Shrink, RefusesRanksThatCannotBeExcluded) {
  auto why = [](std::vector<int> excluded) {
    return std::string(ShrinkMembers(4, 2, excluded).status().message());
  };
  EXPECT_THAT(why({4}), HasSubstr("excluded rank 4 is none of 4"));
  EXPECT_THAT(why({-1}), HasSubstr("excluded rank -1"));
  EXPECT_THAT(why({1, 1}), HasSubstr("named twice"));
  EXPECT_THAT(why({2}), HasSubstr("is this rank"));
}

}  // namespace
}  // namespace caravan::client
