// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/progress.h"

#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

TEST(Progress, CountsChangesFromOneSoThatALaneThatNeverLookedLooks) {
  Progress progress;
  EXPECT_EQ(progress.change(), 1u);
  progress.Changed();
  EXPECT_EQ(progress.change(), 2u);
}

TEST(Progress, MovesAnOperationAtTheTimeOfTheTurn) {
  Progress progress;
  OperationProgress operation;
  OperationProgress other;
  EXPECT_EQ(operation.moved_ns(), 0);
  progress.BeginTurn(70);
  EXPECT_EQ(progress.now_ns(), 70);
  progress.Moved(operation);
  EXPECT_EQ(operation.moved_ns(), 70);
  EXPECT_EQ(other.moved_ns(), 0);
  EXPECT_EQ(progress.change(), 2u);
}

TEST(Progress, IsStillSinceTheLaterOfItsTurnAndItsLastMove) {
  Progress progress;
  OperationProgress operation;
  EXPECT_EQ(progress.oldest_since_ns(), 0);
  progress.BeginTurn(10);
  progress.BeginTurn(20);
  EXPECT_EQ(progress.oldest_since_ns(), 10) << "the first turn alone begins the wait";
  EXPECT_EQ(progress.StillSince(operation), 10);
  progress.Moved(operation);
  EXPECT_EQ(progress.StillSince(operation), 20);
  progress.BeginTurn(30);
  progress.OldestChanged();
  EXPECT_EQ(progress.oldest_since_ns(), 30);
  EXPECT_EQ(progress.StillSince(operation), 30);
}

TEST(Progress, CountsEachRecordForItsOperationAndForAll) {
  Progress progress;
  OperationProgress first;
  OperationProgress second;
  progress.BeginTurn(5);
  progress.CountSealed(first, 100);
  progress.CountReceived(first, 20);
  progress.CountOpened(first, 3);
  progress.CountSent(first, 100, /*forwarded=*/false);
  progress.CountSent(second, 7, /*forwarded=*/true);
  collective::Counters expected;
  expected.sealed = 100;
  expected.records_sealed = 1;
  expected.received = 20;
  expected.opened = 3;
  expected.records_opened = 1;
  expected.sent = 100;
  expected.records_sent = 1;
  EXPECT_EQ(first.counted(), expected);
  expected.sent = 107;
  expected.records_sent = 2;
  expected.forwarded = 7;
  EXPECT_EQ(progress.counted(), expected);
  EXPECT_EQ(second.counted().forwarded, 7u);
  EXPECT_EQ(second.counted().sent, 7u);
}

TEST(Progress, MovesAnOperationWhoseRecordIsSentWithoutWakingLanes) {
  Progress progress;
  OperationProgress operation;
  progress.BeginTurn(40);
  progress.CountSent(operation, 1, /*forwarded=*/false);
  EXPECT_EQ(operation.moved_ns(), 40);
  EXPECT_EQ(progress.change(), 1u);
}

TEST(Progress, CountingAloneIsNoMove) {
  Progress progress;
  OperationProgress operation;
  progress.BeginTurn(40);
  progress.CountSealed(operation, 1);
  progress.CountReceived(operation, 1);
  progress.CountOpened(operation, 1);
  EXPECT_EQ(operation.moved_ns(), 0);
  EXPECT_EQ(progress.change(), 1u);
}

TEST(Progress, AddsUpWhatWasPlannedForCompleteOperations) {
  Progress progress;
  collective::Counters planned;
  planned.sealed = 1;
  planned.opened = 2;
  planned.forwarded = 3;
  planned.sent = 4;
  planned.received = 5;
  planned.records_sealed = 6;
  planned.records_opened = 7;
  planned.records_sent = 8;
  progress.CountCompleted(planned);
  EXPECT_EQ(progress.expected(), planned);
  EXPECT_EQ(progress.operations(), 1u);
  progress.CountCompleted(planned);
  EXPECT_EQ(progress.expected().opened, 4u);
  EXPECT_EQ(progress.expected().records_sent, 16u);
  EXPECT_EQ(progress.operations(), 2u);
  EXPECT_EQ(progress.counted(), collective::Counters());
}

TEST(Progress, CountsBrokenTags) {
  Progress progress;
  progress.CountTagFailure();
  progress.CountTagFailure();
  EXPECT_EQ(progress.tag_failures(), 2u);
}

}  // namespace
}  // namespace caravan::engine
