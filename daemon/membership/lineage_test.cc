// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/lineage.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::membership {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr crypto::EpochId kEpoch{7};

v1::Roster Parent(int size, const std::string& name = "train") {
  v1::Roster roster;
  roster.set_communicator(name);
  for (int i = 0; i < size; ++i) {
    v1::Member* member = roster.add_members();
    member->set_rank(static_cast<uint32_t>(i));
    member->set_spki(std::string(32, static_cast<char>('a' + i)));
    member->set_control_address(absl::StrCat("10.0.0.", i, ":7400"));
    member->set_node(absl::StrCat("node", i));
  }
  return roster;
}

TEST(Lineage, NamesTheRootAndTheNodes) {
  auto lineage = TraceLineage(Parent(4), kEpoch, 2, {3, 2}, 1);
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_EQ(lineage->name, "train[3,2]~0700000000000000");
  EXPECT_NE(TraceLineage(Parent(4), crypto::EpochId{8}, 2, {3, 2}, 1)->name, lineage->name);
  EXPECT_EQ(lineage->root_address, "10.0.0.3:7400");
  EXPECT_THAT(lineage->spkis, ElementsAre(std::string(32, 'd'), std::string(32, 'c')));
}

TEST(Lineage, KeepsNamesWithinTheirLimit) {
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < 64; ++i) members.push_back(i);
  auto one = TraceLineage(Parent(64), kEpoch, 0, members, 0);
  auto two = TraceLineage(Parent(64, one->name), kEpoch, 0, members, 0);
  std::swap(members[1], members[2]);
  auto other = TraceLineage(Parent(64), kEpoch, 0, members, 0);
  EXPECT_THAT(one->name, StartsWith("train#"));
  EXPECT_THAT(two->name, StartsWith("train#"));
  EXPECT_LE(one->name.size(), 128u);
  EXPECT_NE(one->name, two->name);
  EXPECT_NE(one->name, other->name);
  auto longest = TraceLineage(Parent(2, std::string(128, 'n')), kEpoch, 0, {0}, 0);
  EXPECT_LE(longest->name.size(), 128u);
}

TEST(Lineage, RefusesMembersThatCannotBe) {
  auto why = [](const std::vector<uint32_t>& members, uint32_t rank) {
    return std::string(TraceLineage(Parent(4), kEpoch, 1, members, rank).status().message());
  };
  EXPECT_THAT(why({}, 0), HasSubstr("members: 0 of a communicator of 4"));
  EXPECT_THAT(why({0, 1, 4}, 1), HasSubstr("members: rank 4 of 4"));
  EXPECT_THAT(why({1, 1}, 0), HasSubstr("named twice"));
  EXPECT_THAT(why({0, 2}, 0), HasSubstr("rank: 0 is not where members name this node"));
  EXPECT_THAT(why({0, 1}, 2), HasSubstr("rank: 2"));
}

TEST(Lineage, GroupsRanksThatShareNodes) {
  v1::Roster parent = Parent(3);
  parent.set_ranks_per_node(2);  // ranks 0-1, 2-3, 4-5
  auto pairs = TraceLineage(parent, kEpoch, 5, {4, 5, 0, 1}, 1);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_EQ(pairs->ranks_per_node, 2u);
  EXPECT_THAT(pairs->spkis, ElementsAre(std::string(32, 'c'), std::string(32, 'a')));
  EXPECT_EQ(pairs->root_address, "10.0.0.2:7400");
  auto rail = TraceLineage(parent, kEpoch, 3, {1, 3, 5}, 1);
  ASSERT_TRUE(rail.ok()) << rail.status();
  EXPECT_EQ(rail->ranks_per_node, 1u);
  EXPECT_EQ(rail->spkis.size(), 3u);
  auto why = [&](const std::vector<uint32_t>& members) {
    return std::string(TraceLineage(parent, kEpoch, 0, members, 0).status().message());
  };
  EXPECT_THAT(why({0, 1, 2}), HasSubstr("ranks 2-3 (node1) does not"));
  EXPECT_THAT(why({0, 2, 1, 3}), HasSubstr("consecutive new numbers: ranks 0-1 (node0)"));
  EXPECT_THAT(why({0, 6}), HasSubstr("members: rank 6 of 6"));
}

TEST(Lineage, RefusesANodeThatWasNoMember) {
  auto lineage = TraceLineage(Parent(3), kEpoch, 0, {0, 2}, 0);
  v1::Roster roster;
  roster.set_communicator(lineage->name);
  *roster.add_members() = Parent(3).members(0);
  *roster.add_members() = Parent(3).members(2);
  EXPECT_TRUE(CheckLineage(*lineage, roster).ok());
  roster.mutable_members(1)->set_spki(std::string(32, 'z'));
  const absl::Status status = CheckLineage(*lineage, roster);
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 (node2) of \"train[0,2]~"));
}

}  // namespace
}  // namespace caravan::membership
