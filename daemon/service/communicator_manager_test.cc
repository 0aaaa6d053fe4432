// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/communicator_manager.h"

#include <future>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/reason.h"
#include "daemon/service/cluster_testing.h"
#include "daemon/service/fake_cluster.h"
#include "daemon/session/reasons.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::service {
namespace {

using testing::HasSubstr;

class Sizes : public testing::TestWithParam<int> {};

TEST_P(Sizes, StandOnAllRanksWithTheSameKeys) {
  const int size = GetParam();
  FakeCluster cluster(size);
  std::vector<uint64_t> handles = StandUp(cluster, size, /*lanes=*/2);
  for (int i = 0; i < size; ++i) {
    engine::GroupConfig* group = cluster[i].engine->group();
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->rank, i);
    EXPECT_EQ(group->epoch, cluster[0].engine->group()->epoch);
    ASSERT_EQ(group->peers.size(), static_cast<size_t>(size - 1));
    for (engine::Peer& peer : group->peers) {
      EXPECT_EQ(peer.lanes.size(), 2u);
      engine::GroupConfig* other = cluster[peer.rank].engine->group();
      for (engine::Peer& back : other->peers) {
        if (back.rank != i) continue;
        EXPECT_TRUE(crypto::ConstantTimeEquals(peer.pair_parent_out.Expose(),
                                               back.pair_parent_in.Expose()));
        EXPECT_FALSE(crypto::ConstantTimeEquals(peer.pair_parent_out.Expose(),
                                                peer.pair_parent_in.Expose()));
        EXPECT_TRUE(
            crypto::ConstantTimeEquals(peer.sender_parent.Expose(), other->sender_parent.Expose()));
      }
    }
    auto ring = cluster[i].manager->Ring(*cluster[i].application, handles[i]);
    ASSERT_TRUE(ring.ok());
    auto* header = reinterpret_cast<v1::SharedRing*>((*ring)->data());
    EXPECT_EQ(header->magic, v1::kRingMagic);
    EXPECT_EQ(header->rank, static_cast<uint32_t>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, testing::Values(1, 2, 3, 5, 8));

TEST(Communicators, NameARootThatDoesNotAnswer) {
  FakeCluster cluster(2);
  cluster[0].silent = true;
  CreateOptions options = OptionsFor(1, 2);
  options.timeout = absl::Milliseconds(300);
  const CreateResult created = Start(cluster, 1, options).get();
  EXPECT_EQ(created.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(created.status().message()),
              HasSubstr("rank 1 (node-b) could not reach the root at 10.0.0.1:7400: it does not "
                        "answer"));
}

TEST(Communicators, ChooseByTheRootsTableOnEveryRank) {
  FakeCluster cluster(3);
  StandUp(cluster, 3, /*lanes=*/0);
  const collective::SelectorTable& table = cluster[0].engine->group()->selector;
  ASSERT_GT(table.size(), 1u);
  EXPECT_EQ(table.front().max_bytes, FakeCluster::RingLimitOf(0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cluster[i].engine->group()->selector, table);
    for (const engine::Peer& peer : cluster[i].engine->group()->peers) {
      EXPECT_EQ(peer.lanes.size(), 1u) << "nobody asked for a number";
    }
  }
}

TEST(Communicators, FailAlikeWhenRanksDisagree) {
  FakeCluster cluster(2);
  std::future<CreateResult> root = Start(cluster, 0, OptionsFor(0, 2));
  std::future<CreateResult> other = Start(cluster, 1, OptionsFor(1, 4));
  absl::Status status = root.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(status), HasSubstr("(node-b)"));
  EXPECT_THAT(Text(status), HasSubstr("(node-a)"));
  EXPECT_EQ(other.get().status(), status);
}

TEST(Communicators, NameTheRankThatNeverCame) {
  FakeCluster cluster(2);
  CreateOptions options = OptionsFor(0, 2);
  options.timeout = absl::Milliseconds(200);
  absl::Status status = Start(cluster, 0, options).get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(status), HasSubstr("rank 1 has not joined"));
}

TEST(Communicators, RefuseARootThatIsTheNodeItself) {
  FakeCluster cluster(2);
  CreateOptions options = OptionsFor(1, 2);
  EXPECT_THAT(Text(Start(cluster, 0, options).get().status()), HasSubstr("is this node itself"));
}

TEST(Communicators, AreCapped) {
  FakeCluster cluster(1, /*max_communicators=*/1);
  StandUp(cluster, 1);
  EXPECT_EQ(Start(cluster, 0, OptionsFor(0, 1)).get().status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Communicators, EndOnAllRanksWhenAnApplicationEnds) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  cluster[1].manager->EndApplication(*cluster[1].application);
  for (int i = 0; i < 3; ++i) {
    absl::Status failure = cluster[i].engine->Failure();
    EXPECT_EQ(Text(failure), "rank 1 (node-b): application (pid 101) ended");
  }
}

TEST(Communicators, GiveUpWhenAnApplicationEndsWhileJoining) {
  FakeCluster cluster(3);
  std::future<CreateResult> root = Start(cluster, 0, OptionsFor(0, 3));
  std::future<CreateResult> other = Start(cluster, 1, OptionsFor(1, 3));
  absl::SleepFor(absl::Milliseconds(100));
  cluster[1].manager->EndApplication(*cluster[1].application);
  EXPECT_THAT(Text(root.get().status()), HasSubstr("rank 1 (node-b) left"));
  EXPECT_FALSE(other.get().ok());
}

TEST(Communicators, EndWhenReattestationFails) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  auto session = cluster[0].sessions->FindPeer(cluster[2].spki);
  session->Close(absl::PermissionDeniedError("measurement ab is not listed [SNP_MEASUREMENT]"));
  cluster[0].manager->OnSessionClosed(*session);
  for (int i = 0; i < 3; ++i) {
    absl::Status failure = cluster[i].engine->Failure();
    EXPECT_EQ(failure.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(Text(failure),
              "re-attestation of rank 2 (node-c) failed: measurement ab is not listed "
              "[SNP_MEASUREMENT]");
  }
}

TEST(Communicators, OutliveASessionThatHasASuccessor) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  auto session = cluster[0].sessions->FindPeer(cluster[1].spki);
  cluster[0].sessions->Add(std::make_shared<FakeSession>(
      crypto::SessionId{99}, crypto::Role::kInitiator, cluster[0].spki, cluster[1].spki,
      *crypto::SecretBytes::Random(48)));
  session->Close(absl::UnavailableError("replaced"));
  cluster[0].manager->OnSessionClosed(*session);
  EXPECT_TRUE(cluster[0].engine->Failure(absl::Milliseconds(200)).ok());
}

// One of two ends learns first that a session has been replaced.
TEST(Communicators, StandOverTheNewerSessionWhereOneIsReplaced) {
  FakeCluster cluster(3);
  cluster.Link(cluster[1], cluster[0]);
  cluster.Link(cluster[1], cluster[2]);
  const auto to_root = cluster[1].sessions->With(cluster[0]);
  const auto to_third = cluster[1].sessions->With(cluster[2]);
  cluster[0].sessions->With(cluster[1])->drains = true;
  cluster[2].sessions->With(cluster[1])->drains = true;
  auto later = std::async(std::launch::async, [&] {
    absl::SleepFor(absl::Milliseconds(200));
    to_root->drains = to_third->drains = true;
  });
  StandUp(cluster, 3);
  EXPECT_NE(cluster[1].sessions->With(cluster[0])->id(), to_root->id());
  EXPECT_NE(cluster[1].sessions->With(cluster[2])->id(), to_third->id());
}

// A session that was replaced closes once nobody holds it.
TEST(Communicators, LetTheirSessionsGoOnceTheyStand) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (i == j) continue;
      // The cluster's list and this one.
      const auto session = cluster[i].sessions->With(cluster[j]);
      EXPECT_EQ(session.use_count(), 2) << i << " with " << j;
    }
  }
}

TEST(Communicators, AbortOnAllRanksWithTheReason) {
  FakeCluster cluster(3);
  std::vector<uint64_t> handles = StandUp(cluster, 3);
  ASSERT_TRUE(cluster[2].manager->Abort(*cluster[2].application, handles[2], "loss is NaN").ok());
  for (int i = 0; i < 3; ++i) {
    absl::Status failure = cluster[i].engine->Failure();
    EXPECT_EQ(failure.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(Text(failure), "rank 2 (node-c): aborted: loss is NaN");
  }
}

TEST(Communicators, AnswerWithTheirReasonAfterTheyAreDestroyed) {
  FakeCluster cluster(2);
  std::vector<uint64_t> handles = StandUp(cluster, 2);
  ASSERT_TRUE(cluster[0].manager->Destroy(*cluster[0].application, handles[0]).ok());
  EXPECT_EQ(cluster[0].engine->group(), nullptr);
  EXPECT_TRUE(cluster[1].engine->Failure(absl::Milliseconds(100)).ok());
  cluster[1].engine->group()->on_fault(
      MakeFault(1, 0, absl::StatusCode::kUnavailable, "connection closed"));
  EXPECT_THAT(Text(cluster[1].engine->Failure()),
              HasSubstr("rank 0 (node-a): application (pid 100) has left"));
  EXPECT_EQ(cluster[0].manager->Destroy(*cluster[0].application, handles[0]).code(),
            absl::StatusCode::kNotFound);
}

TEST(Communicators, AreNotMadeForAnApplicationThatHasEnded) {
  FakeCluster cluster(1);
  cluster[0].applications.Remove(cluster[0].application->id);
  EXPECT_EQ(Start(cluster, 0, OptionsFor(0, 1)).get().status().code(), absl::StatusCode::kAborted);
}

TEST(Communicators, BelongToTheirApplication) {
  FakeCluster cluster(1);
  std::vector<uint64_t> handles = StandUp(cluster, 1);
  auto stranger = *cluster[0].applications.Add({200, 0, 0});
  EXPECT_EQ(cluster[0].manager->Destroy(*stranger, handles[0]).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(cluster[0].manager->Ring(*stranger, handles[0]).ok());
}

TEST(Communicators, StandAgainAfterAFailure) {
  FakeCluster cluster(2);
  std::vector<uint64_t> handles = StandUp(cluster, 2);
  for (int i : {0, 1}) {
    EXPECT_TRUE(cluster[i].manager->Destroy(*cluster[i].application, handles[i]).ok());
  }
  StandUp(cluster, 2);
  EXPECT_NE(cluster[0].engine->group(), nullptr);
}

TEST(PeerCalls, OfNonMembersAreRefused) {
  FakeCluster cluster(3);
  StandUp(cluster, 2);
  cluster.Link(cluster[2], cluster[0]);
  membership::Caller outsider{cluster[0].sessions->FindPeer(cluster[2].spki)};
  std::string epoch = membership::ToBytes(cluster[0].engine->group()->epoch);
  v1::EndEpochRequest end;
  end.set_epoch(epoch);
  end.mutable_decided()->set_code(1);
  EXPECT_EQ(cluster[0].manager->EndEpoch(outsider, end).code(),
            absl::StatusCode::kPermissionDenied);
  v1::ReportFaultRequest report;
  report.set_epoch(epoch);
  report.mutable_fault()->set_code(1);
  v1::ReportFaultReply reply;
  EXPECT_EQ(cluster[0].manager->ReportFault(outsider, report, &reply).code(),
            absl::StatusCode::kPermissionDenied);
  report.set_epoch(std::string(32, 'x'));
  EXPECT_EQ(cluster[0].manager->ReportFault(outsider, report, &reply).code(),
            absl::StatusCode::kNotFound);
  v1::DescribeWaitRequest wait;
  wait.set_epoch(epoch);
  v1::DescribeWaitReply waits;
  EXPECT_EQ(cluster[0].manager->DescribeWait(outsider, wait, &waits).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(cluster[0].engine->Failure(absl::Milliseconds(50)).ok());
}

TEST(PeerCalls, ConfirmOnceAndFromTheLowerRank) {
  FakeCluster cluster(2);
  StandUp(cluster, 2);
  membership::Caller root{cluster[1].sessions->FindPeer(cluster[0].spki),
                          absl::Now() + absl::Seconds(1)};
  v1::ConfirmRequest request;
  request.set_epoch(membership::ToBytes(cluster[1].engine->group()->epoch));
  request.set_source(0);
  request.set_mac(std::string(48, 'x'));
  v1::ConfirmReply reply;
  EXPECT_EQ(cluster[1].manager->Confirm(root, request, &reply).code(),
            absl::StatusCode::kFailedPrecondition);
  request.set_source(1);
  EXPECT_EQ(cluster[1].manager->Confirm(root, request, &reply).code(),
            absl::StatusCode::kInvalidArgument);
  request.set_epoch("short");
  EXPECT_EQ(cluster[1].manager->Confirm(root, request, &reply).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Lanes, AreExpectedFromWhoDialsUntilTheyAreThere) {
  FakeCluster cluster(2);
  // The fake network asks before each lane: standing up shows that those were expected.
  StandUp(cluster, 2, /*lanes=*/2);
  const crypto::EpochId epoch = cluster[0].engine->group()->epoch;
  const auto expects = [&](int node, const crypto::EpochId& of) {
    const auto session = cluster[node].sessions->FindPeer(cluster[1 - node].spki);
    return cluster[node].manager->ExpectsLane(session->id(), of);
  };
  EXPECT_FALSE(expects(1, epoch)) << "all lanes are there";
  EXPECT_FALSE(expects(0, epoch)) << "the root dials";
  EXPECT_FALSE(expects(1, {})) << "no such epoch";
}

TEST(PeerCalls, OverAReplacedSessionNameNoNewEpoch) {
  FakeCluster cluster(3);
  StandUp(cluster, 3);
  cluster[0].sessions->With(cluster[1])->drains = true;
  const auto far = cluster[2].sessions->With(cluster[1]);
  far->drains = true;
  membership::Caller joiner{cluster[0].sessions->Find(cluster[1].sessions->With(cluster[0])->id())};
  v1::JoinRequest join;
  join.set_rank(1);
  v1::JoinReply joined;
  EXPECT_EQ(base::ReasonOf(cluster[0].manager->Join(joiner, join, &joined)), session::kReplaced);
  membership::Caller second{far, absl::Now() + absl::Seconds(1)};
  v1::ConfirmRequest confirm;
  confirm.set_epoch(membership::ToBytes(cluster[2].engine->group()->epoch));
  confirm.set_source(1);
  v1::ConfirmReply confirmed;
  EXPECT_EQ(base::ReasonOf(cluster[2].manager->Confirm(second, confirm, &confirmed)),
            session::kReplaced);
}

TEST(PeerCalls, CannotJoinAsTheRoot) {
  FakeCluster cluster(2);
  cluster.Link(cluster[1], cluster[0]);
  membership::Caller caller{cluster[0].sessions->FindPeer(cluster[1].spki)};
  v1::JoinRequest request;
  v1::JoinReply reply;
  EXPECT_THAT(Text(cluster[0].manager->Join(caller, request, &reply)), HasSubstr("rank: 0"));
}

}  // namespace
}  // namespace caravan::service
