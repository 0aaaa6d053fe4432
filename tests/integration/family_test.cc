// SPDX-License-Identifier: Apache-2.0
//
// Communicators of another one's members, over real daemons: Split, and Shrink after a failure.
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/members.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;

CommunicatorOptions Quick() {
  CommunicatorOptions options;
  options.deadline = absl::Seconds(2);
  options.create_timeout = absl::Seconds(20);
  return options;
}

class FamilyTest : public ::testing::Test {
 protected:
  void Begin(int size) {
    cluster_.StartAll(size);
    members_ = ConnectMembers(cluster_, size);
    StandUp(members_, cluster_.address(0), "train", Quick());
  }
  // Every member's child; ranks whose `call` gives null have none.
  std::vector<Member> Children(const std::function<CommunicatorOr(int rank)>& call,
                               const std::vector<int>& callers) {
    std::vector<Member> children(callers.size());
    AtOnce(callers.size(), [&](size_t i) {
      auto made = call(callers[i]);
      EXPECT_TRUE(made.ok()) << "rank " << callers[i] << ": " << made.status();
      if (!made.ok() || *made == nullptr) return;
      children[i].communicator = *std::move(made);
    });
    return children;
  }
  // A child's buffers are its parent's node's.
  void ExpectSums(std::vector<Member>& children, const std::vector<int>& callers) {
    AtOnce(children.size(), [&](size_t i) {
      if (children[i].communicator == nullptr) return;
      Member& parent = members_[callers[i]];
      std::swap(parent.communicator, children[i].communicator);
      EXPECT_EQ(parent.Sum(), absl::OkStatus()) << "rank " << callers[i];
      std::swap(parent.communicator, children[i].communicator);
    });
  }

  Cluster cluster_;
  std::vector<Member> members_;
};

TEST_F(FamilyTest, SplitsByColorInTheOrderOfKeys) {
  Begin(4);
  const std::vector<int> all = {0, 1, 2, 3};
  // Ranks 0 and 2 of color 7 with keys that turn them round; rank 3 alone; rank 1 in none.
  const int colors[] = {7, Communicator::kNoColor, 7, 9};
  const int keys[] = {5, 0, 4, 0};
  auto children = Children(
      [&](int rank) { return members_[rank].communicator->Split(colors[rank], keys[rank]); }, all);
  ASSERT_NE(children[0].communicator, nullptr);
  ASSERT_NE(children[2].communicator, nullptr);
  ASSERT_NE(children[3].communicator, nullptr);
  EXPECT_EQ(children[1].communicator, nullptr);
  EXPECT_EQ(children[0].communicator->rank(), 1);
  EXPECT_EQ(children[2].communicator->rank(), 0);
  EXPECT_EQ(children[0].communicator->size(), 2);
  EXPECT_EQ(children[3].communicator->size(), 1);
  ExpectSums(children, all);
  // The parent goes on, beside its children.
  AtOnce(4, [&](size_t i) { EXPECT_EQ(members_[i].Sum(), absl::OkStatus()); });
}

TEST_F(FamilyTest, GoesOnWithTheSurvivorsOfADaemon) {
  Begin(4);
  cluster_.daemon(0).Signal(SIGKILL);
  std::vector<absl::Status> ends(4);
  AtOnce(3, [&](size_t i) {
    while (ends[i + 1].ok()) ends[i + 1] = members_[i + 1].Sum();
  });
  EXPECT_EQ(ends[1], ends[2]);
  EXPECT_EQ(ends[1], ends[3]);
  const std::vector<int> survivors = {1, 2, 3};
  auto children =
      Children([&](int rank) { return members_[rank].communicator->Shrink({0}); }, survivors);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(children[i].communicator, nullptr);
    EXPECT_EQ(children[i].communicator->rank(), i);
    EXPECT_EQ(children[i].communicator->size(), 3);
  }
  ExpectSums(children, survivors);
}

TEST_F(FamilyTest, RefusesANodeThatCameBackAsAnother) {
  Begin(3);
  cluster_.daemon(2).Signal(SIGKILL);
  AtOnce(2, [&](size_t i) {
    while (members_[i].Sum().ok()) {
    }
  });
  cluster_.Start(2);
  // It asks for the name that the others' child would have.
  auto back = std::move(ConnectMembers(cluster_, 3)[2]);
  const std::string name =
      absl::StrCat("train[0,1,2]~", cluster_.Status(0).communicators(0).epoch().substr(0, 16));
  absl::Status why[3];
  AtOnce(3, [&](size_t i) {
    if (i < 2) {
      why[i] = members_[i].communicator->Shrink({}).status();
    } else {
      why[i] =
          Communicator::Create(*back.node, {name, cluster_.address(0)}, 2, 3, Quick()).status();
    }
  });
  EXPECT_TRUE(absl::IsPermissionDenied(why[0])) << why[0];
  EXPECT_THAT(
      std::string(why[0].message()),
      HasSubstr(absl::StrCat("rank 2 (node-c) of \"", name, "\" is not the node that it was")));
  EXPECT_EQ(why[1], why[0]);
  EXPECT_FALSE(why[2].ok());
}

TEST_F(FamilyTest, RefusesExclusionsThatCannotBe) {
  Begin(2);
  EXPECT_TRUE(absl::IsInvalidArgument(members_[0].communicator->Shrink({0}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(members_[0].communicator->Shrink({2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(members_[0].communicator->Split(-2, 0).status()));
}

#ifdef CARAVAN_EVERY_SIZE
constexpr int kCycles = 100;
#else
constexpr int kCycles = 8;
#endif

TEST_F(FamilyTest, KillsAndRecoversUnderLoad) {
  constexpr int kNodes = 3;
  Begin(kNodes);
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    const int lost = cycle % kNodes;
    std::vector<int> survivors;
    for (int i = 0; i < kNodes; ++i) {
      if (i != lost) survivors.push_back(i);
    }
    // Several sums pass on all, then one daemon dies in the midst of them.
    std::vector<absl::Status> ends(kNodes);
    AtOnce(kNodes + 1, [&](size_t i) {
      if (i == kNodes) {
        absl::SleepFor(absl::Milliseconds(20 + 7 * (cycle % 10)));
        return cluster_.daemon(lost).Signal(SIGKILL);
      }
      while (ends[i].ok()) ends[i] = members_[i].Sum(20'000);
      EXPECT_FALSE(absl::IsDataLoss(ends[i])) << ends[i];
    });
    EXPECT_EQ(ends[survivors[0]], ends[survivors[1]]) << "cycle " << cycle;
    auto children =
        Children([&](int rank) { return members_[rank].communicator->Shrink({lost}); }, survivors);
    ExpectSums(children, survivors);
    // The lost node comes back, and all of them start anew.
    children.clear();
    cluster_.Start(lost);
    members_ = ConnectMembers(cluster_, kNodes);
    StandUp(members_, cluster_.address(0), absl::StrCat("train", cycle), Quick());
    for (const Member& member : members_) ASSERT_NE(member.communicator, nullptr);
  }
}

}  // namespace
}  // namespace caravan::testing
