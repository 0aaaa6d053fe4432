// SPDX-License-Identifier: Apache-2.0
//
// Communicators whose root nobody names: real daemons find it by a real etcd.
#include <signal.h>

#include "absl/time/clock.h"
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
  AtOnce(3, [&](size_t i) {
    if (i == 2) {
      // Ranks 0 and 1 wait for this one. The root dies and comes back under another address.
      absl::SleepFor(absl::Milliseconds(500));
      cluster_.daemon(0).Signal(SIGKILL);
      cluster_.Start(0);
      members[0] = std::move(ConnectMembers(cluster_, 1)[0]);
      AtOnce(2, [&](size_t again) {
        Member& member = members[again == 0 ? 0 : 2];
        auto made =
            Communicator::Create(*member.node, {"train", ""}, again == 0 ? 0 : 2, 3, Within(40));
        EXPECT_TRUE(made.ok()) << made.status();
        if (made.ok()) member.communicator = *std::move(made);
      });
      return;
    }
    auto made =
        Communicator::Create(*members[i].node, {"train", ""}, static_cast<int>(i), 3, Within(40));
    if (i == 0) {
      EXPECT_FALSE(made.ok());
      return;
    }
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) members[i].communicator = *std::move(made);
  });
  AtOnce(3, [&](size_t i) {
    ASSERT_NE(members[i].communicator, nullptr);
    EXPECT_EQ(members[i].Sum(), absl::OkStatus());
  });
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
