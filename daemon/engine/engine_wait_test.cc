// SPDX-License-Identifier: Apache-2.0
//
// Whom a communicator says that it waits for, while some of its members are silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Op = collective::Operation;

constexpr int kSocketBuffer = 4096;

class EngineWaitTest : public ::testing::Test {
 protected:
  enum class Third { kWorks, kSilent, kDeaf };

  // Ranks 0 to 2, over the smallest sockets. Rank 2 may be silent, without an engine, or deaf:
  // what the others send to it is read by nobody.
  void Start(Third third, absl::Duration deadline = absl::Seconds(30)) {
    engines_ = StartEnginesForTest(third == Third::kSilent ? 2 : 3);
    std::vector<Engine*> engines = PointersForTest(engines_);
    engines.resize(3);
    CommunicatorOptionsForTest options;
    options.deadline = deadline;
    options.connect = [this, third](int, int b, int) {
      auto [first, second] = ConnectedPairForTest(false, kSocketBuffer);
      if (b != 2 || third == Third::kWorks) return std::pair(first, second);
      const int to = std::exchange(second, -1);
      held_.push_back(to);
      if (third == Third::kDeaf) {
        const auto [inner, outer] = ConnectedPairForTest(false, kSocketBuffer);
        second = outer;
        held_.push_back(inner);
        relays_.emplace_back([this, from = inner, to] {
          std::vector<char> bytes(kSocketBuffer);
          for (ssize_t left = 0, sent = 0; !stop_;) {
            if (left <= 0) left = recv(from, bytes.data(), bytes.size(), sent = 0);
            const ssize_t n = left <= 0 ? -1 : send(to, bytes.data() + sent, left, MSG_NOSIGNAL);
            if (n <= 0) {
              absl::SleepFor(absl::Microseconds(200));
              continue;
            }
            left -= n;
            sent += n;
          }
        });
      }
      return std::pair(first, second);
    };
    comm_ = std::make_unique<CommunicatorForTest>(engines, options);
  }
  ~EngineWaitTest() override {
    stop_ = true;
    for (std::thread& relay : relays_) relay.join();
    comm_.reset();
    for (const int fd : held_) close(fd);
  }

  void Submit(int rank, Op op, Algorithm algorithm, uint64_t count) {
    const BufferForTest input = comm_->Allocate(rank, count * 4);
    const BufferForTest output = comm_->Allocate(rank, count * 4 * 3);
    v1::SubmitEntry entry = EntryForTest(op, count, collective::DataType::kFloat32, input, output);
    entry.algorithm = static_cast<uint8_t>(algorithm);
    comm_->ring(rank).Submit(entry);
  }
  absl::StatusOr<Wait> Ask(int rank) { return engines_[rank]->DescribeWait(comm_->epoch()); }
  // What `rank` waits for once it has not moved for a while.
  Wait Settled(int rank) {
    for (int i = 0; i < 1000; ++i) {
      absl::StatusOr<Wait> wait = Ask(rank);
      EXPECT_TRUE(wait.ok()) << wait.status();
      if (!wait.ok() || (wait->waits && wait->idle > absl::Milliseconds(100))) {
        return wait.value_or(Wait());
      }
      absl::SleepFor(absl::Milliseconds(10));
    }
    ADD_FAILURE() << "rank " << rank << " does not wait";
    return Wait();
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<int> held_;
  std::vector<std::thread> relays_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<CommunicatorForTest> comm_;
};

TEST_F(EngineWaitTest, NamesWhoOwesARecordAndWhoHasNothingOutstanding) {
  Start(Third::kWorks);
  for (int rank : {0, 1, 2}) Submit(rank, Op::kAllReduce, Algorithm::kRing, 1000);
  for (int rank : {0, 1, 2}) EXPECT_TRUE(comm_->ring(rank).Wait(0).ok());
  for (int rank : {0, 2}) Submit(rank, Op::kAllReduce, Algorithm::kRing, 1000);
  const Wait last = Settled(2);
  EXPECT_THAT(last.peers, ElementsAre(1));
  EXPECT_EQ(last.sequence, 1u);
  EXPECT_EQ(last.operation, "allreduce(f32 × 1000, sum)");
  // It waits for one that waits itself.
  EXPECT_THAT(Settled(0).peers, ElementsAre(2));
  const absl::StatusOr<Wait> idle = Ask(1);
  ASSERT_TRUE(idle.ok());
  EXPECT_FALSE(idle->waits);
  EXPECT_THAT(idle->peers, IsEmpty());
  EXPECT_THAT(idle->operation, IsEmpty());
  EXPECT_GE(idle->idle, last.idle);
}

TEST_F(EngineWaitTest, SaysSoWhileItsOwnDeadlineHasNotEndedItYet) {
  Start(Third::kSilent, absl::Milliseconds(150));
  Submit(0, Op::kAllReduce, Algorithm::kRing, 1000);
  const std::optional<Fault> fault = comm_->WaitFault(0);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->peer, 2);
  EXPECT_THAT(fault->waits_for, ElementsAre(2));
  EXPECT_EQ(fault->waited, absl::Milliseconds(150));
  const absl::StatusOr<Wait> wait = Ask(0);
  ASSERT_TRUE(wait.ok()) << wait.status();
  EXPECT_THAT(wait->peers, ElementsAre(2));
  EXPECT_GE(wait->idle, absl::Milliseconds(150));
  comm_->FailAll(absl::DeadlineExceededError(fault->message));
  EXPECT_EQ(Ask(0).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(engines_[0]->DescribeWait({}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(EngineWaitTest, AnswersNobodyAboutAFaultThatIsNoDeadline) {
  Start(Third::kWorks);
  v1::SubmitEntry entry{};
  comm_->ring(0).Submit(entry);
  const std::optional<Fault> fault = comm_->WaitFault(0);
  ASSERT_TRUE(fault.has_value());
  EXPECT_THAT(fault->waits_for, IsEmpty());
  EXPECT_EQ(Ask(0).status().code(), absl::StatusCode::kFailedPrecondition);
}

// Rank 1's own root sends all that it can: what is here already is nobody's debt.
TEST_F(EngineWaitTest, NamesWhoTakesNothingNotWhoseRecordsItHasToLeave) {
  Start(Third::kSilent);
  for (int rank : {0, 1}) Submit(rank, Op::kBroadcast, Algorithm::kChainForward, 1 << 18);
  EXPECT_THAT(Settled(1).peers, ElementsAre(2));
  EXPECT_THAT(Settled(0).peers, ElementsAre(1));
}

// Records for several peers share their buffers: while rank 2 takes none, ranks 0 and 1 have none
// for each other either. Each waits for the other, and both for rank 2, which owes nothing.
TEST_F(EngineWaitTest, NamesAllThatItWaitsFor) {
  Start(Third::kDeaf);
  for (int rank : {0, 1, 2}) Submit(rank, Op::kAllGather, Algorithm::kDirect, 1 << 18);
  EXPECT_THAT(Settled(0).peers, ElementsAre(1, 2));
  EXPECT_THAT(Settled(1).peers, ElementsAre(0, 2));
}

// One that has room for what comes, and nothing to send, waits for who owes it alone.
TEST_F(EngineWaitTest, NamesNobodyToWhomItHasNothingToSendYet) {
  Start(Third::kSilent);
  Submit(1, Op::kBroadcast, Algorithm::kChainForward, 1 << 18);
  EXPECT_THAT(Settled(1).peers, ElementsAre(0));
}

// Ranks that share a node wait for one another before the node waits for anybody.
TEST(EngineIslandsWait, NamesTheNodeItselfForItsOwnRanks) {
  auto engines = StartEnginesForTest(2);
  CommunicatorOptionsForTest options;
  options.local = 2;
  CommunicatorForTest comm(PointersForTest(engines), options);
  const BufferForTest buffer = comm.Allocate(2, 40);
  comm.ring(2).Submit(
      EntryForTest(Op::kAllReduce, 10, collective::DataType::kFloat32, buffer, buffer));
  absl::StatusOr<Wait> wait = Wait();
  for (int i = 0; i < 1000 && wait.ok() && !wait->waits; ++i) {
    absl::SleepFor(absl::Milliseconds(5));
    wait = engines[1]->DescribeWait(comm.epoch());
  }
  ASSERT_TRUE(wait.ok()) << wait.status();
  EXPECT_THAT(wait->peers, ElementsAre(1));
  EXPECT_THAT(wait->operation, HasSubstr("rank 3 has not called what rank 2 called: allreduce"));
}

}  // namespace
}  // namespace caravan::engine
