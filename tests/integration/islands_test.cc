// SPDX-License-Identifier: Apache-2.0
//
// Several ranks a node, over real daemons: results, what crosses the network, and the end of one.
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/members.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;

CommunicatorOptions Quick(int per_node) {
  CommunicatorOptions options;
  options.deadline = absl::Seconds(3);
  options.create_timeout = absl::Seconds(20);
  options.ranks_per_node = per_node;
  return options;
}

class IslandsTest : public ::testing::Test {
 protected:
  void Begin(int nodes, int per_node) {
    cluster_.StartAll(nodes);
    members_ = ConnectMembers(cluster_, nodes * per_node, per_node);
    StandUp(members_, cluster_.address(0), "train", Quick(per_node));
    for (const Member& member : members_) ASSERT_NE(member.communicator, nullptr);
  }

  void ExpectSums() {
    AtOnce(members_.size(), [&](size_t i) {
      EXPECT_EQ(members_[i].Sum(100'000), absl::OkStatus()) << "rank " << i;
    });
  }

  Cluster cluster_;
  std::vector<Member> members_;
};

TEST_F(IslandsTest, ANodeSealsAndOpensOnceForAllItsRanks) {
  Begin(2, 3);
  ExpectSums();
  for (int node = 0; node < 2; ++node) {
    const v1::GetStatusReply status = cluster_.Status(node);
    ASSERT_EQ(status.communicators_size(), 1);
    const v1::CommunicatorInfo& communicator = status.communicators(0);
    EXPECT_EQ(communicator.rank(), static_cast<uint32_t>(3 * node));
    EXPECT_EQ(communicator.size(), 6u);
    // An allreduce between two: m sealed, 2 (N − 1)/N · m opened.
    EXPECT_EQ(communicator.sealed_bytes(), 400'000u);
    EXPECT_EQ(communicator.opened_bytes(), 400'000u);
  }
}

TEST_F(IslandsTest, OneNodeNeedsNoPeer) {
  Begin(1, 4);
  ExpectSums();
  EXPECT_EQ(cluster_.Status(0).communicators(0).sealed_bytes(), 0u);
}

TEST_F(IslandsTest, EveryRankGetsItsBlocks) {
  Begin(2, 2);
  AtOnce(4, [&](size_t r) {
    Member& member = members_[r];
    auto input = member.node->Allocate(4 * 1000 * sizeof(int32_t));
    auto output = member.node->Allocate(4 * 1000 * sizeof(int32_t));
    ASSERT_TRUE(input.ok() && output.ok());
    for (int i = 0; i < 4000; ++i) (*input)->As<int32_t>()[i] = static_cast<int>(r) * 10'000 + i;
    auto work = member.communicator->AllToAll(
        {.input = **input, .output = **output, .count = 1000, .type = DataType::kInt32});
    ASSERT_TRUE(work.ok()) << work.status();
    ASSERT_TRUE(work->Wait().ok()) << work->Wait();
    for (int from = 0; from < 4; ++from) {
      for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ((*output)->As<int32_t>()[from * 1000 + i],
                  from * 10'000 + static_cast<int>(r) * 1000 + i);
      }
    }
  });
}

TEST_F(IslandsTest, SplitsIntoRailsThatCarryMessages) {
  Begin(2, 2);
  std::vector<CommunicatorOr> rails(4);
  AtOnce(4,
         [&](size_t r) { rails[r] = members_[r].communicator->Split(static_cast<int>(r % 2), 0); });
  AtOnce(4, [&](size_t r) {
    ASSERT_TRUE(rails[r].ok()) << rails[r].status();
    EXPECT_EQ((*rails[r])->size(), 2);
    auto buffer = members_[r].node->Allocate(64);
    ASSERT_TRUE(buffer.ok());
    (*buffer)->As<int32_t>()[0] = static_cast<int>(r);
    auto work = r < 2 ? (*rails[r])->Send(
                            {.input = **buffer, .count = 1, .type = DataType::kInt32, .peer = 1})
                      : (*rails[r])->Recv(
                            {.output = **buffer, .count = 1, .type = DataType::kInt32, .peer = 0});
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_TRUE(work->Wait().ok()) << work->Wait();
    EXPECT_EQ((*buffer)->As<int32_t>()[0], static_cast<int>(r % 2));
  });
}

TEST_F(IslandsTest, GoesOnWithTheOtherNodesRanks) {
  Begin(3, 2);
  ExpectSums();
  cluster_.daemon(1).Signal(SIGKILL);
  const std::vector<int> left = {0, 1, 4, 5};
  std::vector<absl::Status> reasons(6);
  AtOnce(left.size(), [&](size_t i) {
    while (reasons[left[i]].ok()) reasons[left[i]] = members_[left[i]].Sum();
  });
  for (const int rank : left) EXPECT_EQ(reasons[rank], reasons[0]);
  EXPECT_THAT(std::string(reasons[0].message()), HasSubstr("ranks 2-3"));
  AtOnce(left.size(), [&](size_t i) {
    Member& member = members_[left[i]];
    auto child = member.communicator->Shrink({2, 3});
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ((*child)->rank(), static_cast<int>(i));
    member.communicator = *std::move(child);
    EXPECT_EQ(member.Sum(), absl::OkStatus());
  });
}

TEST_F(IslandsTest, EndsForAllOnceARankThatLeftIsNeeded) {
  Begin(2, 2);
  ExpectSums();
  members_[3].communicator.reset();
  EXPECT_EQ(members_[2].communicator->AsyncError(), absl::OkStatus());
  std::vector<absl::Status> reasons(3);
  AtOnce(3, [&](size_t r) {
    while (reasons[r].ok()) reasons[r] = members_[r].Sum();
  });
  EXPECT_EQ(reasons[0], reasons[1]);
  EXPECT_EQ(reasons[0], reasons[2]);
  EXPECT_THAT(std::string(reasons[0].message()), HasSubstr("rank 3 has left the communicator"));
}

TEST_F(IslandsTest, EndsForAllWithOneOfItsProcesses) {
  Begin(2, 2);
  ExpectSums();
  // The connection goes first, as when a process dies.
  members_[3].node.reset();
  members_[3].communicator.reset();
  std::vector<absl::Status> reasons(3);
  AtOnce(3, [&](size_t r) {
    while (reasons[r].ok()) reasons[r] = members_[r].Sum();
  });
  EXPECT_EQ(reasons[0], reasons[1]);
  EXPECT_EQ(reasons[0], reasons[2]);
  EXPECT_THAT(std::string(reasons[0].message()), HasSubstr("rank 3"));
}

TEST_F(IslandsTest, RefusesRanksOfANodeThatDisagree) {
  cluster_.StartAll(1);
  members_ = ConnectMembers(cluster_, 2, 2);
  std::vector<absl::Status> refused(2);
  AtOnce(2, [&](size_t r) {
    CommunicatorOptions options = Quick(2);
    options.lanes = r == 0 ? 1 : 2;
    refused[r] = Communicator::Create(*members_[r].node, {"train", cluster_.address(0)},
                                      static_cast<int>(r), 2, options)
                     .status();
  });
  EXPECT_EQ(refused[0], refused[1]);
  EXPECT_TRUE(absl::IsInvalidArgument(refused[0])) << refused[0];
  EXPECT_THAT(std::string(refused[0].message()), HasSubstr("2 lanes"));
}

}  // namespace
}  // namespace caravan::testing
