// SPDX-License-Identifier: Apache-2.0
//
// What one application may take of the daemon's memory and descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "crypto/record.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::DataType;
using Op = collective::Operation;
using ::testing::HasSubstr;

constexpr uint64_t kCount = 20000;

// A communicator of two ranks whose plans may have `steps` together.
class EngineBounds : public ::testing::Test {
 protected:
  void Start(uint64_t steps) {
    static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
    for (int i = 0; i < 2; ++i) {
      Engine::Options options;
      options.ciphers = sealed;
      options.max_outstanding_steps = steps;
      engines_.push_back(*Engine::Start(std::move(options)));
    }
    comm_ = std::make_unique<CommunicatorForTest>(PointersForTest(engines_),
                                                  CommunicatorOptionsForTest{});
  }
  void Submit(int rank, int operations) {
    for (int i = 0; i < operations; ++i) {
      const BufferForTest buffer = comm_->Allocate(rank, (kCount + i) * sizeof(float));
      ids_[rank].push_back(comm_->ring(rank).Submit(
          EntryForTest(Op::kAllReduce, kCount + i, DataType::kFloat32, buffer, buffer)));
    }
  }
  bool Started(uint64_t sequence) {
    return engines_[0]->DescribeOperation(comm_->epoch(), sequence).ok();
  }
  void AwaitStart(uint64_t sequence) {
    for (int i = 0; i < 1000 && !Started(sequence); ++i) absl::SleepFor(absl::Milliseconds(5));
    ASSERT_TRUE(Started(sequence));
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> comm_;
  std::vector<uint64_t> ids_[2];
};

TEST_F(EngineBounds, HoldOperationsBackUntilThereIsRoomForTheirPlans) {
  Start(40);
  Submit(0, 50);
  AwaitStart(0);
  // Without rank 1 the first cannot complete, and a few of them are too many steps.
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(Started(4));
  Submit(1, 50);
  for (int rank = 0; rank < 2; ++rank) {
    for (uint64_t id : ids_[rank]) EXPECT_TRUE(comm_->ring(rank).Wait(id).ok());
  }
  EXPECT_TRUE(Started(49));
}

TEST_F(EngineBounds, HoldNothingBackThatFits) {
  Start(1 << 22);
  Submit(0, 50);
  AwaitStart(49);
}

TEST_F(EngineBounds, FailWhatIsHeldBack) {
  Start(1);
  Submit(0, 4);
  AwaitStart(0);
  comm_->FailAll(absl::AbortedError("enough"));
  for (uint64_t id : ids_[0]) EXPECT_TRUE(absl::IsAborted(comm_->ring(0).Wait(id)));
}

TEST(Buffers, AreCountedInWholePages) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  BufferTable table(3 * page + 1);
  auto first = table.Allocate(1);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(table.bytes(), page);
  ASSERT_TRUE(table.Allocate(page + 1).ok());
  EXPECT_EQ(table.bytes(), 3 * page);
  // One byte is left, but no page.
  EXPECT_TRUE(absl::IsResourceExhausted(table.Allocate(1).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(table.Allocate(UINT64_MAX).status()));
  ASSERT_TRUE(table.Free(*first).ok());
  EXPECT_TRUE(table.Allocate(page).ok());
}

TEST(Buffers, AreSoManyAtMost) {
  BufferTable table(1 << 20, /*max_buffers=*/2);
  ASSERT_TRUE(table.Allocate(1).ok());
  auto second = table.Allocate(1);
  ASSERT_TRUE(second.ok());
  const absl::Status third = table.Allocate(1).status();
  EXPECT_TRUE(absl::IsResourceExhausted(third));
  EXPECT_THAT(std::string(third.message()), HasSubstr("has 2 buffers"));
  ASSERT_TRUE(table.Free(*second).ok());
  EXPECT_TRUE(table.Allocate(1).ok());
}

}  // namespace
}  // namespace caravan::engine
