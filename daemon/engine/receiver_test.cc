// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/receiver.h"

#include <string>
#include <vector>

#include "crypto/record.h"
#include "daemon/engine/group_testing.h"
#include "daemon/engine/sender.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using collective::OperationSpec;
using ::testing::HasSubstr;

constexpr uint64_t kChunk = (1 << 14) / sizeof(float);  // elements
constexpr size_t kRecord = (1 << 14) + crypto::kRecordOverhead;

// Rank 0 sends what rank 1 receives.
class ReceiverTest : public ::testing::Test {
 protected:
  static OperationSpec Spec(collective::Operation op, uint64_t count) {
    OperationSpec spec = SpecForTest(op, count, Algorithm::kDirect);
    spec.peer = op == collective::Operation::kSend ? 1 : 0;
    return spec;
  }
  // The records of rank 0's next operation.
  std::string Sealed(uint64_t count) {
    Operation& operation = groups_.Begin(0, Spec(collective::Operation::kSend, count));
    input_ = groups_.InputOf(operation);
    std::string bytes;
    for (int i = 0; i < 100 && !operation.Done(); ++i) {
      groups_.state(0).progress().Changed();
      sender_.Pump(groups_.lane(0, 1));
      bytes += groups_.Drain(0, 1);
    }
    return bytes;
  }
  Operation& Expect(uint64_t count) {
    return groups_.Begin(1, Spec(collective::Operation::kRecv, count));
  }
  // Turns the receiver after `bytes` came.
  void Take(const std::string& bytes) {
    groups_.Inject(0, 1, bytes);
    for (int i = 0; i < 20 && !groups_.state(1).faulted(); ++i) {
      groups_.lane(1, 0).readable = true;
      receiver_.Turn(groups_.lane(1, 0));
    }
  }
  std::string FaultMessage() {
    const GroupState& state = groups_.state(1);
    return state.faulted() ? state.fault().message : "no fault";
  }

  GroupsForTest groups_{2};
  Sender sender_{groups_.state(0)};
  Receiver receiver_{groups_.state(1)};
  std::vector<uint8_t> input_;
};

TEST_F(ReceiverTest, PutsEachRecordInItsPlaceAndCountsIt) {
  const std::string records = Sealed(3 * kChunk + 5);
  const Operation& operation = Expect(3 * kChunk + 5);
  Take(records);
  EXPECT_EQ(FaultMessage(), "no fault");
  EXPECT_TRUE(operation.Done());
  EXPECT_EQ(groups_.OutputOf(operation), input_);
  EXPECT_EQ(operation.progress.counted(), operation.plan().counters);
  EXPECT_EQ(groups_.state(1).progress().counted(), operation.plan().counters);
}

TEST_F(ReceiverTest, TakesNothingOfARecordThatIsNotWhole) {
  const std::string records = Sealed(kChunk);
  const Operation& operation = Expect(kChunk);
  Take(records.substr(0, records.size() - 1));
  EXPECT_FALSE(operation.Done());
  EXPECT_EQ(groups_.OutputOf(operation), std::vector<uint8_t>(input_.size(), 0));
  EXPECT_EQ(operation.progress.moved_ns(), 0);
  Take(records.substr(records.size() - 1));
  EXPECT_EQ(groups_.OutputOf(operation), input_);
}

TEST_F(ReceiverTest, ParksALaneWhoseHeadIsEarlyUntilSomethingChanges) {
  const std::string records = Sealed(1);
  Take(records);
  Lane& lane = groups_.lane(1, 0);
  EXPECT_EQ(lane.parked_at, groups_.state(1).progress().change());
  const Operation& operation = Expect(1);
  EXPECT_FALSE(receiver_.Turn(lane)) << "nothing is said to have changed";
  EXPECT_FALSE(operation.Done());
  groups_.state(1).progress().Changed();
  EXPECT_TRUE(receiver_.Turn(lane));
  EXPECT_TRUE(operation.Done());
  EXPECT_EQ(lane.parked_at, 0u);
}

TEST_F(ReceiverTest, ShowsNothingOfARecordWhoseTagIsWrong) {
  std::string records = Sealed(kChunk);
  const Operation& operation = Expect(kChunk);
  records.back() ^= 1;
  Take(records);
  EXPECT_THAT(FaultMessage(), HasSubstr("the record's tag does not match [RECORD_TAG]"));
  EXPECT_EQ(groups_.state(1).progress().tag_failures(), 1u);
  EXPECT_EQ(groups_.OutputOf(operation), std::vector<uint8_t>(input_.size(), 0));
}

TEST_F(ReceiverTest, RefusesARecordThatWasTakenBefore) {
  const std::string records = Sealed(2 * kChunk);
  Expect(2 * kChunk);
  Take(records.substr(0, kRecord) + records.substr(0, kRecord));
  EXPECT_THAT(FaultMessage(), HasSubstr("the record was taken before [RECORD_REPLAYED]"));
}

TEST_F(ReceiverTest, RefusesARecordThatOvertookAnother) {
  const std::string records = Sealed(2 * kChunk);
  Expect(2 * kChunk);
  Take(records.substr(kRecord));
  EXPECT_THAT(FaultMessage(), HasSubstr("the record overtook chunk 0 of its stream"));
}

TEST_F(ReceiverTest, RefusesARecordOfAnotherEpoch) {
  std::string records = Sealed(1);
  Expect(1);
  crypto::RecordHeader header = *crypto::DecodeRecordHeader(
      {reinterpret_cast<const uint8_t*>(records.data()), crypto::kRecordHeaderSize});
  header.epoch_prefix[0] ^= 1;
  crypto::EncodeRecordHeader(
      header, {reinterpret_cast<uint8_t*>(records.data()), crypto::kRecordHeaderSize});
  Take(records);
  EXPECT_THAT(FaultMessage(), HasSubstr("of another epoch [RECORD_EPOCH]"));
}

TEST_F(ReceiverTest, OpensARecordOfAnotherOperationBeforeItBlames) {
  const std::string records = Sealed(7);
  Expect(8);
  Take(records);
  EXPECT_THAT(FaultMessage(), HasSubstr("[OPERATION_MISMATCH]"));
  EXPECT_TRUE(groups_.state(1).fault().mismatch);
}

TEST_F(ReceiverTest, BlamesTheTagOfARecordThatOnlyClaimsToBeOfAnotherOperation) {
  std::string records = Sealed(7);
  Expect(8);
  records.back() ^= 1;
  Take(records);
  EXPECT_THAT(FaultMessage(), HasSubstr("has a tag that does not match [RECORD_TAG]"));
  EXPECT_FALSE(groups_.state(1).fault().mismatch);
  EXPECT_EQ(groups_.state(1).progress().tag_failures(), 1u);
}

TEST_F(ReceiverTest, NamesARecordOfAnOperationThatHasEnded) {
  const std::string records = Sealed(1);
  Expect(1);
  Take(records);
  groups_.state(1).window().Pop();
  groups_.state(1).sequences().Take(Spec(collective::Operation::kRecv, 1));
  Expect(1);
  Take(records);
  EXPECT_THAT(FaultMessage(), HasSubstr("which has ended here"));
  EXPECT_THAT(FaultMessage(), HasSubstr("[RECORD_REPLAYED]"));
}

TEST_F(ReceiverTest, TellsAConnectionThatEndsInsideARecordFromOneThatEnds) {
  const std::string records = Sealed(2 * kChunk);
  Expect(2 * kChunk);
  groups_.Inject(0, 1, records.substr(0, kRecord + 10));
  groups_.Leave(0);
  groups_.lane(1, 0).hung_up = true;
  for (int i = 0; i < 5; ++i) receiver_.Turn(groups_.lane(1, 0));
  EXPECT_THAT(FaultMessage(), HasSubstr("inside a record, after 10 bytes of it"));
}

TEST_F(ReceiverTest, BlamesAPeerThatLeavesWhileARecordIsDue) {
  const std::string records = Sealed(2 * kChunk);
  const Operation& operation = Expect(2 * kChunk);
  groups_.Inject(0, 1, records.substr(0, kRecord));
  groups_.Leave(0);
  groups_.lane(1, 0).hung_up = true;
  for (int i = 0; i < 5; ++i) receiver_.Turn(groups_.lane(1, 0));
  EXPECT_THAT(FaultMessage(), HasSubstr("(node-0) left the communicator"));
  EXPECT_EQ(operation.progress.counted().records_opened, 1u) << "what came before still counts";
}

TEST(ReceiverOfAChain, HoldsRecordsToSendOnUpToItsSlots) {
  GroupsForTest groups(3);
  Sender root(groups.state(0));
  Sender sender(groups.state(1));
  Receiver receiver(groups.state(1));
  const OperationSpec spec =
      SpecForTest(collective::Operation::kBroadcast, 40 * kChunk, Algorithm::kChainForward);
  groups.Begin(0, spec);
  const Operation& middle = groups.Begin(1, spec);
  const uint32_t slots = middle.plan().class_slots;
  ASSERT_LT(slots, 40u);
  const auto turn = [&] {
    for (int i = 0; i < 100; ++i) {
      groups.lane(0, 1).writable = groups.lane(1, 0).readable = true;
      root.Pump(groups.lane(0, 1));
      receiver.Turn(groups.lane(1, 0));
    }
  };
  turn();
  EXPECT_EQ(middle.progress.counted().records_opened, slots);
  EXPECT_NE(groups.lane(1, 0).parked_at, 0u);
  for (int i = 0; i < 100; ++i) {
    sender.Pump(groups.lane(1, 2));
    groups.Drain(1, 2);
    turn();
  }
  EXPECT_TRUE(middle.Done());
  EXPECT_EQ(middle.progress.counted(), middle.plan().counters);
  EXPECT_FALSE(groups.state(1).faulted());
}

}  // namespace
}  // namespace caravan::engine
