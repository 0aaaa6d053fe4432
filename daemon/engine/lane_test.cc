// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/lane.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

constexpr size_t kRecord = 100;

class LaneTest : public ::testing::Test {
 protected:
  LaneTest() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) abort();
    far_ = fds[0];
    lane_ = std::make_unique<Lane>(fds[1], 3, 3, kRecord, &pool_);
  }
  ~LaneTest() override { close(far_); }

  void Come(const std::string& bytes) {
    ASSERT_EQ(write(far_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string Gone() {
    char bytes[4 * kRecord];
    const ssize_t n = read(far_, bytes, sizeof(bytes));
    return n <= 0 ? "" : std::string(bytes, static_cast<size_t>(n));
  }
  void Put(size_t size, char letter) {
    WireBuffer* space = lane_->Reserve(size);
    std::memset(space->data.get() + space->fill, letter, size);
    Segment segment;
    segment.buffer = space;
    segment.begin = space->fill;
    segment.end = segment.begin + static_cast<uint32_t>(size);
    space->fill = segment.end;
    ++space->users;
    lane_->Push(segment);
  }
  std::string Received() const {
    return {reinterpret_cast<const char*>(lane_->received().data()), lane_->received().size()};
  }

  BufferPool pool_{kRecord};
  int far_ = -1;
  std::unique_ptr<Lane> lane_;
};

TEST_F(LaneTest, HasRoomForWhatItsTwoBuffersHold) {
  EXPECT_TRUE(lane_->HasRoom(kRecord));
  EXPECT_FALSE(lane_->HasRoom(kRecord + 1));
  Put(60, 'a');
  EXPECT_TRUE(lane_->HasRoom(kRecord)) << "the other one";
  Put(kRecord, 'b');
  EXPECT_FALSE(lane_->HasRoom(41));
  EXPECT_TRUE(lane_->HasRoom(40)) << "behind the first";
  Put(40, 'c');
  EXPECT_FALSE(lane_->HasRoom(1));
  int sent = 0;
  EXPECT_EQ(lane_->Flush([&](const Segment&) { ++sent; }), Io::kMoved);
  EXPECT_EQ(sent, 3);
  EXPECT_TRUE(lane_->HasRoom(kRecord));
  EXPECT_EQ(Gone(), std::string(60, 'a') + std::string(kRecord, 'b') + std::string(40, 'c'));
}

TEST_F(LaneTest, AskingForRoomTakesNone) {
  Put(60, 'a');
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(lane_->HasRoom(kRecord));
  WireBuffer* space = lane_->Reserve(40);
  EXPECT_EQ(space->fill, 60u) << "the buffer at hand is filled first";
}

TEST_F(LaneTest, ReadsNoFurtherThanOneRecord) {
  Come(std::string(kRecord, 'x') + "yz");
  EXPECT_EQ(lane_->Receive(), Io::kMoved);
  EXPECT_EQ(Received(), std::string(kRecord, 'x'));
  EXPECT_EQ(lane_->Receive(), Io::kNothing) << "the buffer is full";
  lane_->Consume(kRecord);
  EXPECT_EQ(lane_->Receive(), Io::kMoved);
  EXPECT_EQ(Received(), "yz");
  EXPECT_FALSE(lane_->readable) << "there was less than there was room for";
}

TEST_F(LaneTest, GivesItsBufferAwayWhereThatHoldsTheRecordAlone) {
  Come("recordnext");
  ASSERT_EQ(lane_->Receive(), Io::kMoved);
  WireBuffer* other = pool_.Take();
  WireBuffer* const before = other;
  EXPECT_FALSE(lane_->SwapReceived(6, other)) << "more came behind it";
  EXPECT_EQ(other, before);
  EXPECT_TRUE(lane_->SwapReceived(10, other));
  EXPECT_EQ(std::memcmp(other->data.get(), "recordnext", 10), 0);
}

TEST_F(LaneTest, TellsThePeersEndFromAFailureHere) {
  Come("last");
  close(far_);
  far_ = -1;
  lane_->hung_up = true;
  EXPECT_EQ(lane_->Receive(), Io::kMoved);
  EXPECT_EQ(lane_->Receive(), Io::kBroken);
  EXPECT_TRUE(lane_->receive_ended);
  EXPECT_FALSE(lane_->failed_here());
  EXPECT_EQ(Received(), "last");
}

}  // namespace
}  // namespace caravan::engine
