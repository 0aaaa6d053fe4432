// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/held_records.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/engine/engine_testing.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;

constexpr size_t kRecord = 1024;

class HeldRecordsTest : public ::testing::Test {
 protected:
  // The broadcast of 40 chunks from rank 0 to three others, at `node`.
  std::unique_ptr<Operation> At(int node, Algorithm algorithm) {
    collective::OperationSpec spec;
    spec.op = collective::Operation::kBroadcast;
    spec.algorithm = algorithm;
    spec.count = 40 << 12;
    spec.chunk_log2 = 14;
    auto operation = std::make_unique<Operation>();
    operation->Prepare(*Program::Build({spec}, node, {4, 1}, 1), 0, keys_);
    return operation;
  }
  static std::vector<uint32_t> Steps(const Operation& operation, collective::StepKind kind) {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < operation.plan().steps.size(); ++i) {
      if (operation.plan().steps[i].kind == kind) found.push_back(i);
    }
    return found;
  }
  static Segment SegmentOf(Operation& operation, uint32_t step, WireBuffer* buffer,
                           Segment::Owner owner) {
    Segment segment;
    segment.buffer = buffer;
    segment.operation = &operation;
    segment.step = step;
    segment.owner = owner;
    return segment;
  }

  GroupKeys keys_;
  HeldRecords held_{kRecord};
};

TEST_F(HeldRecordsTest, SharesUntilTheBudgetIsSpentAndAgainOnceAllPeersHaveOne) {
  auto operation = At(0, Algorithm::kDirect);
  const std::vector<uint32_t> seals = Steps(*operation, collective::StepKind::kSeal);
  std::vector<WireBuffer*> buffers;
  for (uint32_t step : seals) {
    if (!held_.MayShare(*operation, step, /*oldest=*/true)) break;
    buffers.push_back(held_.Share(*operation, step));
    EXPECT_EQ(buffers.back()->users, 3u);
  }
  ASSERT_EQ(buffers.size(), 8u);
  EXPECT_EQ(held_.bytes(), 8 * kRecord);
  EXPECT_TRUE(held_.MayShare(*operation, seals[0], true)) << "it has its block already";
  EXPECT_FALSE(held_.MayShare(*operation, seals[8], true));
  const Segment first = SegmentOf(*operation, seals[0], buffers[0], Segment::Owner::kShared);
  EXPECT_FALSE(held_.Sent(first));
  EXPECT_FALSE(held_.Sent(first));
  EXPECT_FALSE(held_.MayShare(*operation, seals[8], true)) << "one peer has it still to come";
  EXPECT_TRUE(held_.Sent(first));
  EXPECT_TRUE(held_.MayShare(*operation, seals[8], true));
  EXPECT_EQ(held_.Share(*operation, seals[8]), buffers[0]) << "the block that became free";
}

TEST_F(HeldRecordsTest, LeavesHalfToTheOldestOperation) {
  auto operation = At(0, Algorithm::kDirect);
  const std::vector<uint32_t> seals = Steps(*operation, collective::StepKind::kSeal);
  uint32_t shared = 0;
  while (held_.MayShare(*operation, seals[shared], /*oldest=*/false)) {
    held_.Share(*operation, seals[shared++]);
  }
  EXPECT_EQ(shared, 4u);
  EXPECT_TRUE(held_.MayShare(*operation, seals[shared], /*oldest=*/true));
}

TEST_F(HeldRecordsTest, AsksForNothingWhereARecordGoesToOnePeer) {
  auto operation = At(0, Algorithm::kChainForward);
  for (uint32_t step : Steps(*operation, collective::StepKind::kSeal)) {
    EXPECT_TRUE(held_.MayShare(*operation, step, /*oldest=*/false));
  }
}

TEST_F(HeldRecordsTest, HoldsWhatIsSentOnInAsManySlotsAsThePlanHas) {
  auto operation = At(1, Algorithm::kChainForward);
  const std::vector<uint32_t> opens = Steps(*operation, collective::StepKind::kOpen);
  const auto [far, near] = ConnectedPairForTest(/*tcp=*/false, 0);
  Lane lane(near, 0, 0, kRecord, &held_.pool());
  Lane sender(far, 0, 0, kRecord, &held_.pool());
  EXPECT_FALSE(held_.MayHold(*operation, opens[0], true)) << "no plan has made room yet";
  held_.MakeRoomFor(operation->plan().forward_slots());
  const std::vector<uint8_t> record(kRecord, 7);
  uint32_t held = 0;
  while (held < opens.size() && held_.MayHold(*operation, opens[held], /*oldest=*/true)) {
    held_.Hold(*operation, opens[held++], lane, record);
  }
  EXPECT_EQ(held, operation->plan().class_slots);
  WireBuffer* first = operation->forwards[operation->program->info(opens[0]).forward];
  EXPECT_EQ(std::memcmp(first->data.get(), record.data(), kRecord), 0);
  EXPECT_TRUE(held_.Sent(SegmentOf(*operation, opens[0], first, Segment::Owner::kForward)));
  EXPECT_TRUE(held_.MayHold(*operation, opens[held], true));
}

TEST_F(HeldRecordsTest, NeedsNoSlotWhereNothingIsSentOn) {
  auto operation = At(3, Algorithm::kChainForward);  // the chain's end
  for (uint32_t step : Steps(*operation, collective::StepKind::kOpen)) {
    EXPECT_TRUE(held_.MayHold(*operation, step, /*oldest=*/false));
  }
}

}  // namespace
}  // namespace caravan::engine
