// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/waits.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::membership {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uint16_t kSize = 8;

// Rank 0 has waited for 10 s and asks; the others say what a test lets them say.
class WaitsTest : public testing::Test {
 protected:
  static Membership MakeMembership() {
    v1::Roster roster;
    roster.set_communicator("train");
    for (uint16_t rank = 0; rank < kSize; ++rank) {
      v1::Member& member = *roster.add_members();
      member.set_rank(rank);
      member.set_node(absl::StrCat("node-", std::string(1, static_cast<char>('a' + rank))));
    }
    return Membership(roster, 0, {}, *crypto::SecretBytes::Random(48));
  }

  void Waits(uint16_t rank, std::vector<uint32_t> peers, absl::Duration idle = absl::Seconds(9)) {
    v1::DescribeWaitReply reply;
    reply.set_waits(true);
    for (const uint32_t peer : peers) reply.add_peers(peer);
    reply.set_sequence(2);
    reply.set_idle_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(idle)));
    reply.set_description("allreduce(f32 × 8, sum)");
    says_[rank] = reply;
  }
  void CallsNothing(uint16_t rank, absl::Duration idle = absl::Seconds(9)) {
    v1::DescribeWaitReply reply;
    reply.set_idle_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(idle)));
    says_[rank] = reply;
  }

  std::optional<WaitCause> Follow(std::vector<uint16_t> from) {
    engine::Fault fault;
    fault.peer = from.front();
    fault.waits_for = std::move(from);
    fault.waited = absl::Seconds(10);
    return FollowWaits(fault, membership_,
                       [this](uint16_t rank) -> absl::StatusOr<v1::DescribeWaitReply> {
                         asked_.push_back(rank);
                         const auto found = says_.find(rank);
                         if (found != says_.end()) return found->second;
                         return absl::DeadlineExceededError("silent");
                       });
  }
  void ExpectNothing(std::vector<uint16_t> from) {
    const auto cause = Follow(std::move(from));
    EXPECT_FALSE(cause.has_value()) << cause->rank << ": " << cause->explanation;
  }

  Membership membership_ = MakeMembership();
  std::map<uint16_t, absl::StatusOr<v1::DescribeWaitReply>> says_;
  std::vector<uint16_t> asked_;
};

TEST_F(WaitsTest, EndAtAMemberThatDoesNotAnswer) {
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 1);
  EXPECT_EQ(cause->explanation, "rank 1 (node-b) does not answer");
}

TEST_F(WaitsTest, EndAtAMemberThatCannotBeReached) {
  says_[1] = absl::UnavailableError("no session");
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 1);
}

TEST_F(WaitsTest, LeadToTheEndOfTheChain) {
  Waits(1, {2});
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 2);
  EXPECT_EQ(cause->explanation,
            "rank 1 (node-b) waits for rank 2 (node-c) in allreduce(f32 × 8, sum), sequence 2; "
            "rank 2 (node-c) does not answer");
}

TEST_F(WaitsTest, EndAtAnApplicationThatCallsNothing) {
  Waits(1, {2});
  CallsNothing(2);
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 2);
  EXPECT_THAT(cause->explanation,
              EndsWith("; the application of rank 2 (node-c) has called no further operation"));
}

TEST_F(WaitsTest, EndAtAMemberThatWaitsForNoOther) {
  Waits(1, {1});
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 1);
  EXPECT_THAT(cause->explanation, StartsWith("rank 1 (node-b) waits for no other: allreduce("));
}

TEST_F(WaitsTest, EndAtAMemberThatMoves) {
  Waits(1, {2});
  Waits(2, {3}, absl::Seconds(4));
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 2);
  EXPECT_THAT(cause->explanation, EndsWith("waits for rank 2 (node-c) in allreduce(f32 × 8, sum), "
                                           "sequence 2"));
  EXPECT_THAT(asked_, ElementsAre(1, 2));
}

TEST_F(WaitsTest, BlameTheNeighbourThatMovesAsBefore) {
  Waits(1, {2}, absl::Seconds(4));
  ExpectNothing({1});
}

TEST_F(WaitsTest, GiveAnApplicationTimeToCallTheNextOperation) {
  CallsNothing(1, absl::Seconds(1));
  Waits(2, {3});
  const auto cause = Follow({1, 2});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 3);
}

TEST_F(WaitsTest, InACircleBlameNobodyElse) {
  Waits(1, {2});
  Waits(2, {3});
  Waits(3, {1, 0});
  ExpectNothing({1});
  EXPECT_THAT(asked_, ElementsAre(1, 2, 3));
}

// Ranks 0 and 1 wait for each other, because both wait for rank 2.
TEST_F(WaitsTest, FindWhoeverHoldsUpACircle) {
  Waits(1, {0, 2});
  const auto cause = Follow({1, 2});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 2);
  EXPECT_EQ(cause->explanation,
            "rank 0 (node-a) waits for rank 2 (node-c) too; rank 2 (node-c) does not answer");
}

TEST_F(WaitsTest, PreferWhoIsStuckToWhoMoves) {
  Waits(1, {2}, absl::Seconds(1));
  Waits(3, {4});
  CallsNothing(4);
  const auto cause = Follow({1, 3});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 4);
}

TEST_F(WaitsTest, StopWhereAReasonIsAgreedOnAlready) {
  for (const absl::Status& status :
       {absl::NotFoundError("epoch"), absl::FailedPreconditionError("it has failed"),
        absl::AbortedError("the epoch has ended")}) {
    asked_.clear();
    says_[1] = status;
    ExpectNothing({1, 2});
    EXPECT_THAT(asked_, ElementsAre(1));
  }
}

TEST_F(WaitsTest, GoRoundAnAnswerThatMakesNoSense) {
  const auto silent = [&](const char* what) {
    const auto cause = Follow({1, 2});
    ASSERT_TRUE(cause.has_value()) << what;
    EXPECT_EQ(cause->rank, 2) << what;
  };
  Waits(1, {kSize});
  silent("no member");
  Waits(1, {70'000});
  silent("no rank");
  Waits(1, {});
  silent("nobody, and stands still");
  Waits(1, std::vector<uint32_t>(kSize + 1, 3));
  silent("more than there are");
  says_[1] = absl::UnimplementedError("an older daemon");
  silent("no answer");
}

TEST_F(WaitsTest, BlameNobodyWhoMovesForWaitingForNoOther) {
  Waits(1, {1}, absl::Seconds(1));
  Waits(2, {3});
  const auto cause = Follow({1, 2});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 3);
}

TEST_F(WaitsTest, AskEachMemberOnce) {
  for (uint16_t rank = 1; rank < kSize; ++rank) Waits(rank, {1, 2, 3, 4, 5, 6, 7, 0});
  ExpectNothing({1, 1, 2});
  EXPECT_THAT(asked_, ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST_F(WaitsTest, TellALongChainByItsEnds) {
  for (uint16_t rank = 1; rank + 1 < kSize; ++rank) {
    Waits(rank, {rank + 1u});
    says_[rank]->set_description(std::string(3000, 'x'));
  }
  const auto cause = Follow({1});
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank, 7);
  EXPECT_THAT(cause->explanation, StartsWith("rank 1 (node-b) waits for rank 2 (node-c) in xxx"));
  EXPECT_THAT(cause->explanation,
              HasSubstr("; and so on, 4 in between; rank 6 (node-g) waits for rank 7 (node-h) in"));
  EXPECT_THAT(cause->explanation, EndsWith("; rank 7 (node-h) does not answer"));
  EXPECT_LT(cause->explanation.size(), 1024u);
}

}  // namespace
}  // namespace caravan::membership
