// SPDX-License-Identifier: Apache-2.0
//
// Which reason members end with, and whom it names.
#include "daemon/membership/failure.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/service/cluster_testing.h"
#include "daemon/service/fake_cluster.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::service {
namespace {

using testing::HasSubstr;

TEST(Communicators, EndWithTheFirstReasonOfSeveral) {
  FakeCluster cluster(4);
  StandUp(cluster, 4);
  for (int i = 0; i < 4; ++i) {
    cluster[i].engine->group()->on_fault(
        MakeFault(i, (i + 1) % 4, absl::StatusCode::kDataLoss, absl::StrCat("fault of ", i)));
  }
  absl::Status first = cluster[0].engine->Failure();
  EXPECT_THAT(Text(first), HasSubstr("fault of"));
  for (int i = 1; i < 4; ++i) EXPECT_EQ(cluster[i].engine->Failure(), first);
}

struct Loss {
  const char* name;
  bool silent;
};
class Losses : public testing::TestWithParam<Loss> {};

TEST_P(Losses, OfTheRootAreDecidedByTheNextRank) {
  FakeCluster cluster(4);
  StandUp(cluster, 4);
  (GetParam().silent ? cluster[0].silent : cluster[0].dead) = true;
  // Rank 2 blames the one that forwards to it, as in a ring.
  for (int i : {3, 2, 1}) {
    cluster[i].engine->group()->on_fault(MakeFault(
        i, i == 2 ? 1 : 0, absl::StatusCode::kDeadlineExceeded, absl::StrCat("fault of ", i)));
  }
  absl::Status first = cluster[1].engine->Failure();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(cluster[2].engine->Failure(), first);
  EXPECT_EQ(cluster[3].engine->Failure(), first);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Losses, testing::Values(Loss{"Dead", false}, Loss{"Silent", true}),
                         [](const auto& info) { return info.param.name; });

TEST(Communicators, AskTheArbiterAgainWhereTheSessionClosedMeanwhile) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  cluster[1].lost = 1;  // it is not told
  cluster[0].engine->group()->on_fault(
      MakeFault(0, 1, absl::StatusCode::kUnavailable, "the arbiter's own"));
  const absl::Status first = cluster[0].engine->Failure();
  for (int i = 0; i < 1000 && cluster[1].lost > 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_LE(cluster[1].lost, 0);
  cluster[0].lost = 1;
  cluster[1].engine->group()->on_fault(MakeFault(1, 0, absl::StatusCode::kUnavailable, "another"));
  EXPECT_EQ(cluster[1].engine->Failure(), first);
}

TEST(Communicators, ExplainAMismatchFromBothSides) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  cluster[0].engine->description = "allreduce(f32 × 1024, sum)";
  cluster[1].engine->description = "allreduce(f32 × 2048, sum)";
  engine::Fault fault = MakeFault(1, 0, absl::StatusCode::kInvalidArgument, "mismatch");
  fault.mismatch = true;
  fault.sequence = 3;
  cluster[1].engine->group()->on_fault(fault);
  for (int i : {0, 1}) {
    EXPECT_EQ(Text(cluster[i].engine->Failure()),
              "rank 0 called allreduce(f32 × 1024, sum), rank 1 called allreduce(f32 × 2048, "
              "sum) as operation 3");
  }
}

TEST(Communicators, SayWhatDiffersWhereTheAccountsDoNot) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  engine::Fault fault = MakeFault(1, 0, absl::StatusCode::kInvalidArgument, "mismatch");
  fault.mismatch = true;
  cluster[1].engine->group()->on_fault(fault);
  EXPECT_EQ(Text(cluster[0].engine->Failure()),
            "rank 0 called barrier(), rank 1 called barrier() as operation 0, by another algorithm "
            "or with other counts");
}

TEST(Communicators, CutAPeersAccountBetweenCharacters) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  cluster[0].engine->description = std::string(255, 'a') + "× and so on";
  engine::Fault fault = MakeFault(1, 0, absl::StatusCode::kInvalidArgument, "mismatch");
  fault.mismatch = true;
  cluster[1].engine->group()->on_fault(fault);
  EXPECT_THAT(Text(cluster[0].engine->Failure()),
              HasSubstr("rank 0 called " + std::string(255, 'a') + "…, rank 1 called barrier()"));
}

// Rank 0 waits for rank 1, which waits for rank 2.
void Chain(FakeCluster& cluster) {
  engine::Wait wait{true, {2}, 3, absl::Seconds(1), "barrier()"};
  cluster[1].engine->wait = wait;
  wait.peers = {1};
  cluster[0].engine->wait = wait;
}

engine::Fault MakeDeadline(int rank, int peer) {
  engine::Fault fault = MakeFault(rank, peer, absl::StatusCode::kDeadlineExceeded,
                                  absl::StrCat("fault of ", rank, " [DEADLINE]"));
  fault.waits_for = {static_cast<uint16_t>(peer)};
  fault.waited = absl::Seconds(1);
  return fault;
}

TEST(Communicators, NameTheMemberAtTheEndOfAChainOfWaits) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  Chain(cluster);
  cluster[2].silent = true;
  cluster[0].engine->group()->on_fault(MakeDeadline(0, 1));
  for (int i : {0, 1}) {
    EXPECT_EQ(Text(cluster[i].engine->Failure()),
              "fault of 0; rank 1 (node-b) waits for rank 2 (node-c) in barrier(), sequence 3; "
              "rank 2 (node-c) does not answer [DEADLINE]");
  }
}

TEST(Communicators, NameTheRootThatOthersWaitForInVain) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  cluster[2].engine->wait = engine::Wait{true, {0}, 3, absl::Seconds(1), "barrier()"};
  cluster[0].silent = true;
  const absl::Time start = absl::Now();
  cluster[1].engine->group()->on_fault(MakeDeadline(1, 2));
  for (int i : {1, 2}) {
    EXPECT_THAT(Text(cluster[i].engine->Failure()), HasSubstr("rank 0 (node-a) does not answer"));
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
}

TEST(Communicators, NameTheApplicationThatCallsNothing) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  Chain(cluster);
  cluster[2].engine->wait->idle = absl::Seconds(1);
  cluster[0].engine->group()->on_fault(MakeDeadline(0, 1));
  for (int i : {0, 1, 2}) {
    EXPECT_THAT(Text(cluster[i].engine->Failure()),
                HasSubstr("the application of rank 2 (node-c) has called no further operation"));
  }
}

TEST(Communicators, KeepTheNeighbourWhereWaitsLeadNowhere) {
  for (const absl::StatusOr<engine::Wait>& wait :
       {absl::StatusOr<engine::Wait>(engine::Wait{true, {0}, 3, absl::Seconds(1), "barrier()"}),
        absl::StatusOr<engine::Wait>(absl::FailedPreconditionError("it has failed"))}) {
    FakeCluster cluster(3);
    StandUp(cluster, 3);
    Chain(cluster);
    cluster[2].engine->wait = wait;
    cluster[0].engine->group()->on_fault(MakeDeadline(0, 1));
    EXPECT_EQ(Text(cluster[2].engine->Failure()), "fault of 0 [DEADLINE]");
  }
}

}  // namespace
}  // namespace caravan::service
