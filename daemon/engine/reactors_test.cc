// SPDX-License-Identifier: Apache-2.0
//
// Several communicators on several reactors of one engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "daemon/engine/engine.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::DataType;
using collective::Operation;

constexpr int kRanks = 2;

class ReactorsTest : public ::testing::Test {
 protected:
  static std::vector<std::unique_ptr<Engine>> StartEngines(int reactors, StepHook hook = nullptr) {
    static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
    std::vector<std::unique_ptr<Engine>> engines;
    for (int i = 0; i < kRanks; ++i) {
      Engine::Options options;
      options.ciphers = sealed;
      options.reactors = reactors;
      options.spin = absl::Microseconds(20);
      if (i == 0) options.step_hook = hook;
      engines.push_back(*Engine::Start(std::move(options)));
    }
    return engines;
  }
  std::unique_ptr<CommunicatorForTest> Make(const std::vector<std::unique_ptr<Engine>>& engines) {
    CommunicatorOptionsForTest options;
    options.epoch = ++last_epoch_;
    return std::make_unique<CommunicatorForTest>(PointersForTest(engines), options);
  }
  uint8_t last_epoch_ = 0;
};

// Sums `count` elements on all ranks; OK when every rank has the sum.
absl::Status Reduce(CommunicatorForTest& comm, uint64_t count, int32_t salt = 0) {
  std::vector<BufferForTest> buffers;
  std::vector<uint64_t> ids;
  for (int r = 0; r < kRanks; ++r) {
    buffers.push_back(comm.Allocate(r, count * sizeof(int32_t)));
    std::fill_n(reinterpret_cast<int32_t*>(buffers[r].data), count, salt + r);
  }
  for (int r = 0; r < kRanks; ++r) {
    ids.push_back(comm.ring(r).Submit(
        EntryForTest(Operation::kAllReduce, count, DataType::kInt32, buffers[r], buffers[r])));
  }
  for (int r = 0; r < kRanks; ++r) {
    if (absl::Status done = comm.ring(r).Wait(ids[r]); !done.ok()) return done;
    const auto* sums = reinterpret_cast<const int32_t*>(buffers[r].data);
    const int32_t expected = kRanks * salt + kRanks * (kRanks - 1) / 2;
    if (!std::all_of(sums, sums + count, [&](int32_t s) { return s == expected; })) {
      return absl::DataLossError("a sum is wrong");
    }
  }
  return absl::OkStatus();
}

TEST_F(ReactorsTest, GiveANewCommunicatorTheReactorWithTheFewest) {
  std::mutex mutex;
  std::thread::id last;
  const auto engines = StartEngines(3, [&](uint16_t, uint64_t, const collective::Step&) {
    std::lock_guard<std::mutex> lock(mutex);
    last = std::this_thread::get_id();
  });
  const auto home = [&](CommunicatorForTest& comm) {
    EXPECT_TRUE(Reduce(comm, 100).ok());
    std::lock_guard<std::mutex> lock(mutex);
    return last;
  };
  std::vector<std::unique_ptr<CommunicatorForTest>> comms;
  std::multiset<std::thread::id> homes;
  for (int i = 0; i < 6; ++i) {
    comms.push_back(Make(engines));
    homes.insert(home(*comms.back()));
  }
  for (const std::thread::id id : homes) EXPECT_EQ(homes.count(id), 2u);
  const std::thread::id emptied = home(*comms[4]);
  comms.erase(comms.begin() + 4);
  EXPECT_EQ(home(*comms[0]), home(*comms[0]));
  comms.push_back(Make(engines));
  EXPECT_EQ(home(*comms.back()), emptied);
}

TEST_F(ReactorsTest, RunCommunicatorsAtTheSameTime) {
  const auto engines = StartEngines(4);
  std::vector<std::unique_ptr<CommunicatorForTest>> comms;
  for (int i = 0; i < 6; ++i) comms.push_back(Make(engines));
  std::atomic<int> wrong{0};
  std::vector<std::thread> applications;
  for (auto& comm : comms) {
    applications.emplace_back([&wrong, &comm] {
      for (int i = 0; i < 20; ++i) {
        if (!Reduce(*comm, 1 + 1713 * i, i).ok()) ++wrong;
      }
    });
  }
  // What the daemon asks meanwhile.
  for (int i = 0; i < 50; ++i) {
    const std::vector<GroupStatus> list = engines[0]->List();
    ASSERT_EQ(list.size(), comms.size());
    for (size_t c = 0; c < comms.size(); ++c) EXPECT_EQ(list[c].epoch, comms[c]->epoch());
    (void)engines[1]->DescribeOperation(comms[i % comms.size()]->epoch(), 0);
  }
  for (std::thread& application : applications) application.join();
  EXPECT_EQ(wrong, 0);
  for (auto& comm : comms) {
    EXPECT_EQ(comm->Status(0).counted, comm->Status(0).expected);
    EXPECT_EQ(comm->Status(0).operations, 20u);
  }
}

TEST_F(ReactorsTest, EndOneCommunicatorAndNoOther) {
  const auto engines = StartEngines(2);
  auto first = Make(engines);
  auto second = Make(engines);
  auto third = Make(engines);
  first->FailAll(absl::AbortedError("ended on purpose"));
  EXPECT_EQ(Reduce(*first, 10).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Reduce(*second, 1000).ok());
  EXPECT_TRUE(Reduce(*third, 1000).ok());
  const crypto::EpochId gone = third->epoch();
  third.reset();
  EXPECT_EQ(engines[0]->DescribeOperation(gone, 0).status().code(), absl::StatusCode::kNotFound);
  engines[0]->Remove(gone);
  EXPECT_EQ(engines[0]->List().size(), 2u);
  EXPECT_TRUE(Reduce(*second, 1000).ok());
}

TEST_F(ReactorsTest, MakeAndEndCommunicatorsFromManyThreads) {
  const auto engines = StartEngines(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        CommunicatorOptionsForTest options;
        options.epoch = static_cast<uint8_t>(1 + t * 8 + i);
        CommunicatorForTest comm(PointersForTest(engines), options);
        if (!Reduce(comm, 5000, t).ok()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(engines[0]->List().empty());
}

TEST_F(ReactorsTest, StopTogetherAndFailWhatIsOutstanding) {
  auto engines = StartEngines(3);
  std::vector<std::unique_ptr<CommunicatorForTest>> comms;
  std::vector<uint64_t> ids;
  for (int i = 0; i < 3; ++i) {
    comms.push_back(Make(engines));
    // Rank 1 never submits.
    const BufferForTest buffer = comms.back()->Allocate(0, 4000);
    ids.push_back(comms.back()->ring(0).Submit(
        EntryForTest(Operation::kAllReduce, 1000, DataType::kInt32, buffer, buffer)));
  }
  engines[0]->Stop();
  engines[0]->Stop();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(comms[i]->ring(0).Wait(ids[i]).code(), absl::StatusCode::kCancelled);
  }
  EXPECT_TRUE(engines[0]->List().empty());
}

TEST_F(ReactorsTest, AreAsManyAsAskedForWithinBounds) {
  const auto sealed = crypto::SealedRecords();
  for (const int reactors : {-1, Engine::kMaxReactors + 1}) {
    Engine::Options options;
    options.ciphers = sealed.get();
    options.reactors = reactors;
    EXPECT_EQ(Engine::Start(std::move(options)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_GE(Engine::DefaultReactors(), 1);
  EXPECT_LE(Engine::DefaultReactors(), 8);
}

TEST_F(ReactorsTest, RefuseAnEpochThatAnotherReactorServes) {
  const auto engines = StartEngines(2);
  auto comm = Make(engines);
  GroupConfig config;
  config.epoch = comm->epoch();
  config.name = "again";
  config.size = 1;
  LocalRank local;
  local.ring = *SharedMemory::Create("ring", sizeof(v1::SharedRing));
  local.buffers = std::make_shared<BufferTable>(1 << 20);
  config.local.push_back(std::move(local));
  config.sender_parent = *crypto::SecretBytes::Random(crypto::kParentSize);
  EXPECT_EQ(engines[0]->AddGroup(std::move(config)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(engines[0]->List().size(), 1u);
  EXPECT_TRUE(Reduce(*comm, 100).ok());
}

}  // namespace
}  // namespace caravan::engine
