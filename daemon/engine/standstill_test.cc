// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/standstill.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "daemon/engine/group_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kDeadline = 30'000 * kMs;  // what a configuration has by itself

// Rank 1 of two, with one ring.
class StandstillTest : public ::testing::Test {
 protected:
  static Submissions Rings() {
    GroupConfig config;
    config.rank = 1;
    config.size = 2;
    config.local.resize(1);
    config.local[0].ring = *SharedMemory::Create("ring", sizeof(v1::SharedRing));
    config.local[0].buffers = std::make_shared<BufferTable>(1 << 20);
    return *Submissions::Create(config);
  }
  Operation& Receive() {
    collective::OperationSpec spec =
        SpecForTest(collective::Operation::kRecv, 1, collective::Algorithm::kDirect);
    spec.peer = 0;
    return groups_.Begin(1, spec);
  }

  GroupsForTest groups_{2};
  GroupState& state_ = groups_.state(1);
  Submissions submissions_ = Rings();
  Standstill standstill_{state_, submissions_};
};

TEST_F(StandstillTest, GivesALoneRankThatCallsNothingAllTheTime) {
  EXPECT_EQ(standstill_.deadline_ns(), INT64_MAX);
  EXPECT_FALSE(standstill_.Describe(1000 * kMs).waits);
}

TEST_F(StandstillTest, CountsFromTheLastMove) {
  Operation& operation = Receive();
  EXPECT_EQ(standstill_.deadline_ns(), 1 + kDeadline) << "the first turn was at 1";
  state_.progress().BeginTurn(500 * kMs);
  state_.progress().Moved(operation.progress);
  EXPECT_EQ(standstill_.deadline_ns(), 500 * kMs + kDeadline);
}

TEST_F(StandstillTest, BlamesThePeerWhoseRecordIsDueOnceTheTimeIsUp) {
  Receive();
  state_.progress().BeginTurn(kDeadline);
  standstill_.Check();
  EXPECT_FALSE(state_.faulted());
  state_.progress().BeginTurn(kDeadline + 1);
  standstill_.Check();
  ASSERT_TRUE(state_.faulted());
  EXPECT_EQ(state_.fault().peer, 0);
  EXPECT_THAT(state_.fault().waits_for, ElementsAre(0));
  EXPECT_EQ(state_.fault().waited, absl::Seconds(30));
  EXPECT_THAT(state_.fault().message, HasSubstr("no progress for 30s: waiting for a record that "
                                                "rank 0 (node-0) has to send"));
  EXPECT_THAT(state_.fault().message, HasSubstr("[DEADLINE]"));
}

TEST_F(StandstillTest, DoesNotLookAtWhatMovedLately) {
  Operation& operation = Receive();
  Wait wait = standstill_.Describe(49 * kMs);
  EXPECT_TRUE(wait.waits);
  EXPECT_THAT(wait.peers, IsEmpty());
  wait = standstill_.Describe(51 * kMs);
  EXPECT_THAT(wait.peers, ElementsAre(0));
  EXPECT_EQ(wait.idle, absl::Nanoseconds(51 * kMs - 1));
  state_.progress().BeginTurn(60 * kMs);
  state_.progress().Moved(operation.progress);
  EXPECT_THAT(standstill_.Describe(70 * kMs).peers, IsEmpty());
}

TEST_F(StandstillTest, LooksAgainATenthOfASecondLater) {
  Receive();
  EXPECT_THAT(standstill_.Describe(51 * kMs).peers, ElementsAre(0));
  // The head of a parked lane is here, so that nobody owes it.
  groups_.lane(1, 0).parked_at = 1;
  EXPECT_THAT(standstill_.Describe(150 * kMs).peers, ElementsAre(0));
  EXPECT_THAT(standstill_.Describe(151 * kMs).peers, ElementsAre(1)) << "itself";
}

}  // namespace
}  // namespace caravan::engine
