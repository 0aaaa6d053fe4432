// SPDX-License-Identifier: Apache-2.0
//
// Communicators whose root nobody names: real daemons find it by a real etcd.
#include <signal.h>

#include <future>

#include "absl/time/clock.h"
#include "daemon/store/etcd_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/etcd.h"
#include "tests/integration/members.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;

class RendezvousTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Etcd::Installed()) GTEST_SKIP() << "etcd-server is not installed";
    etcd_ = std::make_unique<Etcd>();
    cluster_.UseStore(etcd_->url());
  }
  static CommunicatorOptions Within(int seconds) {
    CommunicatorOptions options;
    options.create_timeout = absl::Seconds(seconds);
    return options;
  }

  std::unique_ptr<Etcd> etcd_;
  Cluster cluster_;
};

TEST_F(RendezvousTest, FindsTheRootByTheStore) {
  cluster_.StartAll(3);
  std::vector<Member> members = ConnectMembers(cluster_, 3);
  StandUp(members, "", "by store", Within(30));
  AtOnce(3, [&](size_t i) { EXPECT_EQ(members[i].Sum(), absl::OkStatus()); });
}

TEST_F(RendezvousTest, FollowsARootThatDiesBeforeAllAreThere) {
  cluster_.StartAll(3);
  std::vector<Member> members = ConnectMembers(cluster_, 3);
  auto create = [](Member& member, int rank) {
    return std::async(std::launch::async, [&member, rank] {
      return Communicator::Create(*member.node, {"train", ""}, rank, 3, Within(40));
    });
  };
  // Ranks 0 and 1 wait for rank 2; the root dies, and comes back under another address.
  auto lost = create(members[0], 0);
  auto one = create(members[1], 1);
  absl::SleepFor(absl::Milliseconds(500));
  cluster_.daemon(0).Signal(SIGKILL);
  EXPECT_FALSE(lost.get().ok());
  cluster_.Start(0);
  members[0] = std::move(ConnectMembers(cluster_, 1)[0]);
  auto zero = create(members[0], 0);
  auto two = create(members[2], 2);
  int rank = 0;
  for (auto* made : {&zero, &one, &two}) {
    CommunicatorOr communicator = made->get();
    ASSERT_TRUE(communicator.ok()) << "rank " << rank << ": " << communicator.status();
    members[rank++].communicator = *std::move(communicator);
  }
  AtOnce(3, [&](size_t i) { EXPECT_EQ(members[i].Sum(), absl::OkStatus()); });
}

TEST_F(RendezvousTest, AStoreThatLiesOnlyDenies) {
  cluster_.StartAll(2);
  cluster_.Start(2, "", cluster_.AlteredDaemon());
  std::vector<Member> members = ConnectMembers(cluster_, 2);
  store::EtcdOptions options;
  options.endpoints = {etcd_->url()};
  auto store = *store::MakeEtcdStore(std::move(options));
  // The address of a node that policy does not take; then that of one which is no root.
  auto lie =
      store->Announce("train/root", cluster_.address(2), absl::Now() + absl::Seconds(5), nullptr);
  ASSERT_TRUE(lie.ok()) << lie.status();
  auto made = Communicator::Create(*members[1].node, {"train", ""}, 1, 2, Within(5));
  EXPECT_FALSE(made.ok());
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("[SNP_MEASUREMENT]"));
  lie = store->Announce("train/root", cluster_.address(0), absl::Now() + absl::Seconds(5), nullptr);
  made = Communicator::Create(*members[1].node, {"train", ""}, 1, 2, Within(3));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("is not, or no longer, the root"));
}

TEST_F(RendezvousTest, FollowsARootThatFellSilent) {
  cluster_.StartAll(3);
  std::vector<Member> members = ConnectMembers(cluster_, 3);
  auto lost = std::async(std::launch::async, [&] {
    return Communicator::Create(*members[0].node, {"train", ""}, 0, 2, Within(40)).status();
  });
  absl::SleepFor(absl::Milliseconds(300));
  cluster_.daemon(0).Signal(SIGSTOP);
  auto one = std::async(std::launch::async, [&] {
    return Communicator::Create(*members[1].node, {"train", ""}, 1, 2, Within(40));
  });
  // Another node takes rank 0 once the silent one's lease has run out.
  auto zero = Communicator::Create(*members[2].node, {"train", ""}, 0, 2, Within(40));
  auto joined = one.get();
  EXPECT_TRUE(zero.ok()) << zero.status();
  EXPECT_TRUE(joined.ok()) << joined.status();
  cluster_.daemon(0).Signal(SIGKILL);
  EXPECT_FALSE(lost.get().ok());
}

TEST_F(RendezvousTest, SaysThatNoRootHasCome) {
  cluster_.StartAll(2);
  std::vector<Member> members = ConnectMembers(cluster_, 2);
  auto made = Communicator::Create(*members[1].node, {"train", ""}, 1, 2, Within(2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(made.status())) << made.status();
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("knows no root of communicator \"train\": rank 0 has not asked for it"));
}

TEST_F(RendezvousTest, NamesTheRanksThatTheStoreKnows) {
  cluster_.StartAll(2);
  std::vector<Member> members = ConnectMembers(cluster_, 2);
  auto made = Communicator::Create(*members[0].node, {"train", ""}, 0, 2, Within(2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(made.status())) << made.status();
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("knows no other rank"));
}

TEST_F(RendezvousTest, SaysThatTheStoreIsAway) {
  cluster_.StartAll(1);
  std::vector<Member> members = ConnectMembers(cluster_, 1);
  etcd_->process().Signal(SIGSTOP);
  auto made = Communicator::Create(*members[0].node, {"train", ""}, 0, 2, Within(2));
  etcd_->process().Signal(SIGCONT);
  EXPECT_FALSE(made.ok());
  EXPECT_THAT(std::string(made.status().message()), HasSubstr(etcd_->url()));
}

}  // namespace
}  // namespace caravan::testing
