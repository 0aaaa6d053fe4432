// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/sender.h"

#include <string>
#include <vector>

#include "crypto/record.h"
#include "daemon/engine/group_testing.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using collective::OperationSpec;

constexpr uint64_t kChunk = (1 << 14) / sizeof(float);  // elements

// Headers of whole records, one after another.
std::vector<crypto::RecordHeader> HeadersOf(const std::string& bytes) {
  std::vector<crypto::RecordHeader> headers;
  for (size_t at = 0; at < bytes.size();) {
    auto header = crypto::DecodeRecordHeader(
        {reinterpret_cast<const uint8_t*>(bytes.data()) + at, crypto::kRecordHeaderSize});
    if (!header.ok()) {
      ADD_FAILURE() << header.status();
      break;
    }
    headers.push_back(*header);
    at += header->payload_size + crypto::kRecordOverhead;
  }
  return headers;
}

OperationSpec SendSpec(uint64_t count) {
  OperationSpec spec = SpecForTest(collective::Operation::kSend, count, Algorithm::kDirect);
  spec.peer = 1;
  return spec;
}

OperationSpec BroadcastSpec(uint64_t chunks) {
  return SpecForTest(collective::Operation::kBroadcast, chunks * kChunk, Algorithm::kDirect);
}

TEST(Sender, SealsWhatIsReadyInTheOrderOfChunks) {
  GroupsForTest groups(2);
  Sender sender(groups.state(0));
  const Operation& operation = groups.Begin(0, SendSpec(2 * kChunk + 1));
  groups.state(0).progress().Changed();
  std::string bytes;
  for (int i = 0; i < 10 && !operation.Done(); ++i) {
    sender.Pump(groups.lane(0, 1));
    bytes += groups.Drain(0, 1);
  }
  EXPECT_TRUE(operation.Done());
  const std::vector<crypto::RecordHeader> headers = HeadersOf(bytes);
  ASSERT_EQ(headers.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(headers[i].chunk, i);
    EXPECT_EQ(headers[i].payload_size, i < 2 ? kChunk * sizeof(float) : sizeof(float));
    EXPECT_EQ(headers[i].last, i == 2);
  }
  EXPECT_EQ(operation.progress.counted(), operation.plan().counters);
  EXPECT_EQ(groups.state(0).progress().counted(), operation.plan().counters);
}

TEST(Sender, LooksAtAnIdleLaneOnceForEachChange) {
  GroupsForTest groups(2);
  Sender sender(groups.state(0));
  EXPECT_FALSE(sender.Pump(groups.lane(0, 1)));
  groups.Begin(0, SendSpec(1));
  EXPECT_FALSE(sender.Pump(groups.lane(0, 1))) << "nothing is said to have changed";
  groups.state(0).progress().Changed();
  EXPECT_TRUE(sender.Pump(groups.lane(0, 1)));
}

TEST(Sender, KeepsAStepReadyThatHasNoRoom) {
  GroupsForTest groups(2, /*socket_buffer=*/4096);
  Sender sender(groups.state(0));
  const Operation& operation = groups.Begin(0, SendSpec(12 * kChunk));
  for (int i = 0; i < 10; ++i) {
    groups.lane(0, 1).writable = true;
    sender.Pump(groups.lane(0, 1));
  }
  // A lane has two buffers of its own, each for one record of this size.
  const collective::Counters& counted = operation.progress.counted();
  EXPECT_EQ(counted.records_sealed, counted.records_sent + 2);
  EXPECT_LT(counted.records_sealed, 12u);
  std::string bytes;
  for (int i = 0; i < 1000 && !operation.Done(); ++i) {
    bytes += groups.Drain(0, 1);
    sender.Pump(groups.lane(0, 1));
  }
  bytes += groups.Drain(0, 1);
  const std::vector<crypto::RecordHeader> headers = HeadersOf(bytes);
  ASSERT_EQ(headers.size(), 12u);
  for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(headers[i].chunk, i);
}

// Pumps and drains one lane until nothing moves on it.
void PumpDry(Sender& sender, GroupsForTest& groups, int peer) {
  for (int i = 0; i < 50; ++i) {
    sender.Pump(groups.lane(0, peer));
    groups.Drain(0, peer);
  }
}

TEST(Sender, HoldsAsManySharedRecordsAsItsBudgetAllows) {
  GroupsForTest groups(3);
  Sender sender(groups.state(0));
  const Operation& operation = groups.Begin(0, BroadcastSpec(20));
  PumpDry(sender, groups, 1);
  EXPECT_EQ(operation.progress.counted().records_sealed, 8u) << "rank 2 has taken none of them";
  EXPECT_EQ(operation.progress.counted().records_sent, 8u);
  for (int i = 0; i < 20; ++i) {
    PumpDry(sender, groups, 2);
    PumpDry(sender, groups, 1);
  }
  EXPECT_EQ(operation.sends_left, 0u);
  EXPECT_EQ(operation.progress.counted(), operation.plan().counters) << "each is sealed once";
}

TEST(Sender, LeavesHalfOfTheSharedRecordsToTheOldestOperation) {
  GroupsForTest groups(3);
  Sender sender(groups.state(0));
  groups.Begin(0, BroadcastSpec(2));
  const Operation& later = groups.Begin(0, BroadcastSpec(20));
  PumpDry(sender, groups, 1);
  EXPECT_EQ(later.progress.counted().records_sealed, 2u) << "with the two of the oldest, half";
}

TEST(Sender, EndsALaneWhosePeerIsGoneAndLetsOthersLook) {
  GroupsForTest groups(2);
  Sender sender(groups.state(0));
  groups.Begin(0, SendSpec(1));
  groups.Leave(1);
  const uint64_t before = groups.state(0).progress().change();
  EXPECT_TRUE(sender.Pump(groups.lane(0, 1)));
  EXPECT_TRUE(groups.lane(0, 1).send_ended);
  EXPECT_TRUE(groups.lane(0, 1).readable) << "what it sent before still counts";
  EXPECT_EQ(groups.state(0).progress().change(), before + 2) << "the seal, and the end";
  EXPECT_FALSE(sender.Pump(groups.lane(0, 1)));
}

TEST(Sender, FaultsWithoutAKey) {
  GroupsForTest groups(2);
  Sender sender(groups.state(0));
  groups.Begin(0, SendSpec(1));
  groups.state(0).WipeKeys();
  EXPECT_TRUE(sender.Pump(groups.lane(0, 1)));
  ASSERT_TRUE(groups.state(0).faulted());
  EXPECT_NE(groups.state(0).fault().message.find("sealing failed"), std::string::npos);
  EXPECT_EQ(groups.Drain(0, 1), "");
}

}  // namespace
}  // namespace caravan::engine
