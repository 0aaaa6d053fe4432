// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/intake.h"

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kCount = 1024;
constexpr uint64_t kBytes = kCount * sizeof(float);

class IntakeTest : public ::testing::Test {
 protected:
  IntakeTest() {
    rules_.rank = 1;
    rules_.islands = {4, 1};
    rules_.chunk_log2 = 15;
    rules_.selector = &selector_;
    rules_.buffers = &buffers_;
    entry_.id = 5;
    entry_.op = static_cast<uint8_t>(collective::Operation::kAllReduce);
    entry_.dtype = static_cast<uint8_t>(collective::DataType::kFloat32);
    entry_.reduce = static_cast<uint8_t>(collective::ReduceOp::kSum);
    entry_.count = kCount;
    entry_.input_buffer = *buffers_.Allocate(2 * kBytes);
    entry_.output_buffer = *buffers_.Allocate(2 * kBytes);
  }

  std::string Refused() {
    auto submission = CheckEntry(entry_, rules_);
    return submission.ok() ? "taken" : std::string(submission.status().message());
  }

  collective::SelectorTable selector_ = collective::DefaultSelectorTable();
  BufferTable buffers_{uint64_t{1} << 20};
  IntakeRules rules_;
  v1::SubmitEntry entry_{};
};

TEST_F(IntakeTest, TakesAnEntryForWhatItSays) {
  entry_.input_offset = 64;
  auto submission = CheckEntry(entry_, rules_);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->id, 5u);
  ASSERT_EQ(submission->parts.size(), 1u);
  const LocalPart& part = submission->parts.front();
  EXPECT_EQ(part.spec.op, collective::Operation::kAllReduce);
  EXPECT_EQ(part.spec.count, kCount);
  EXPECT_EQ(part.spec.chunk_log2, 15);
  EXPECT_NE(part.spec.algorithm, collective::Algorithm::kAuto) << "resolved";
  EXPECT_EQ(part.input.memory, buffers_.Find(entry_.input_buffer));
  EXPECT_EQ(part.input.offset, 64u);
  EXPECT_EQ(part.input.bytes, kBytes);
  EXPECT_EQ(part.output.host(), buffers_.Find(entry_.output_buffer)->data());
}

TEST_F(IntakeTest, KeepsMemoryThatIsFreedWhileTheOperationRuns) {
  auto submission = CheckEntry(entry_, rules_);
  ASSERT_TRUE(submission.ok());
  ASSERT_TRUE(buffers_.Free(entry_.output_buffer).ok());
  std::memset(submission->parts.front().output.host(), 1, kBytes);
}

TEST_F(IntakeTest, RefusesNumbersThatNameNothing) {
  const v1::SubmitEntry good = entry_;
  entry_.op = 0;
  EXPECT_THAT(Refused(), HasSubstr("entry 5: operation 0 does not exist"));
  entry_.op = 14;
  EXPECT_THAT(Refused(), HasSubstr("operation 14 does not exist: expected 1 to 13"));
  entry_ = good;
  entry_.dtype = 13;
  EXPECT_THAT(Refused(), HasSubstr("element type 13"));
  entry_ = good;
  entry_.reduce = 6;
  EXPECT_THAT(Refused(), HasSubstr("reduction 6"));
  entry_ = good;
  entry_.algorithm = 9;
  EXPECT_THAT(Refused(), HasSubstr("algorithm 9"));
  entry_ = good;
  entry_.reserved = 1;
  EXPECT_THAT(Refused(), HasSubstr("are not zero [APPLICATION_RING]"));
}

TEST_F(IntakeTest, ForgetsAReductionWhereNothingIsReduced) {
  entry_.op = static_cast<uint8_t>(collective::Operation::kBroadcast);
  entry_.reduce = static_cast<uint8_t>(collective::ReduceOp::kMax);
  auto submission = CheckEntry(entry_, rules_);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->spec().reduce, collective::ReduceOp::kSum);
}

TEST_F(IntakeTest, RefusesACountThatOverflows) {
  entry_.count = uint64_t{1} << 62;
  EXPECT_THAT(Refused(), HasSubstr("is out of range [APPLICATION_RING]"));
}

TEST_F(IntakeTest, RefusesRangesThatLeaveTheirBuffers) {
  entry_.input_offset = kBytes + 1;
  EXPECT_THAT(Refused(), HasSubstr("the input of 4096 bytes at offset 4097 leaves buffer"));
  entry_.input_offset = kBytes;
  EXPECT_EQ(Refused(), "taken");
  entry_.output_offset = UINT64_MAX;
  EXPECT_THAT(Refused(), HasSubstr("the output of 4096 bytes"));
  entry_.output_offset = 0;
  entry_.output_buffer = 99;
  EXPECT_THAT(Refused(), HasSubstr("output buffer 99 does not exist [APPLICATION_BUFFER]"));
}

TEST_F(IntakeTest, TakesRangesThatAreApartOrInPlace) {
  entry_.output_buffer = entry_.input_buffer;
  EXPECT_EQ(Refused(), "taken") << "in place";
  entry_.output_offset = kBytes;
  EXPECT_EQ(Refused(), "taken") << "one right after the other";
  entry_.output_offset = kBytes - 4;
  EXPECT_THAT(Refused(), HasSubstr("overlap and are not in place [APPLICATION_BUFFER]"));
  entry_.output_offset = 0;
  entry_.input_offset = 4;
  EXPECT_THAT(Refused(), HasSubstr("overlap and are not in place [APPLICATION_BUFFER]"));
}

TEST_F(IntakeTest, CopiesCountsOnce) {
  entry_.op = static_cast<uint8_t>(collective::Operation::kAllGatherV);
  entry_.counts_buffer = *buffers_.Allocate(64);
  const uint64_t counts[] = {256, 256, 256, 256};
  uint8_t* shared = buffers_.Find(entry_.counts_buffer)->data();
  std::memcpy(shared, counts, sizeof(counts));
  auto submission = CheckEntry(entry_, rules_);
  ASSERT_TRUE(submission.ok()) << submission.status();
  std::memset(shared, 0xFF, sizeof(counts));
  EXPECT_EQ(submission->spec().counts, std::vector<uint64_t>(4, 256));
}

}  // namespace
}  // namespace caravan::engine
