// SPDX-License-Identifier: Apache-2.0
//
// The library against a daemon in this process: real sockets and real shared memory.
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "caravan/caravan.h"
#include "client/fake_daemon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::client {
namespace {

using ::testing::HasSubstr;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// True when `condition` holds within five seconds.
template <typename Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(1));
  return condition();
}

class ClientTest : public ::testing::Test {
 protected:
  // A node, a communicator of one rank and a buffer of 1024 floats.
  void Start(FakeDaemon::Options options = {}) {
    daemon_ = FakeDaemon::Start(std::move(options));
    auto node = Connect();
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    auto buffer = node_->Allocate(4096);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    buffer_ = *std::move(buffer);
    auto comm = Create();
    ASSERT_TRUE(comm.ok()) << comm.status();
    comm_ = *std::move(comm);
  }

  absl::StatusOr<std::unique_ptr<Node>> Connect(absl::Duration timeout = absl::Seconds(5)) {
    return Node::Connect({daemon_->runtime_dir(), timeout});
  }
  absl::StatusOr<std::unique_ptr<Communicator>> Create() {
    return Communicator::Create(*node_, {"test", "127.0.0.1:7400"}, 0, 1);
  }
  absl::StatusOr<Work> Reduce() { return comm_->AllReduce({.input = *buffer_, .count = 1024}); }

  std::unique_ptr<FakeDaemon> daemon_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<Communicator> comm_;
};

TEST_F(ClientTest, MovesTheInputToTheOutput) {
  Start();
  auto output = node_->Allocate(4096);
  ASSERT_TRUE(output.ok()) << output.status();
  std::iota(buffer_->As<float>(), buffer_->As<float>() + 1024, 1.0f);
  auto work = comm_->AllReduce({.input = *buffer_, .output = **output, .count = 1024});
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->Wait(), absl::OkStatus());
  EXPECT_TRUE(work->Test());
  EXPECT_EQ((*output)->As<float>()[1023], 1024.0f);
  EXPECT_EQ(comm_->AsyncError(), absl::OkStatus());
}

TEST_F(ClientTest, KeepsTheCountsOfEachOutstandingOperation) {
  FakeDaemon::Options options;
  // The rings order it all, but by two mappings of the same memory, which sanitizers do not see.
  std::mutex mutex;
  std::set<uint64_t> places;
  auto places_used = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    return places.size();
  };
  options.on_operation = [&](v1::SharedRing&, const v1::SubmitEntry& entry) {
    EXPECT_NE(entry.counts_buffer, 0u);
    EXPECT_EQ(entry.counts_offset % sizeof(uint64_t), 0u);
    std::lock_guard<std::mutex> lock(mutex);
    places.insert(entry.counts_offset);
    return 0u;
  };
  Start(std::move(options));
  auto output = node_->Allocate(4096);
  ASSERT_TRUE(output.ok()) << output.status();
  const uint64_t counts[] = {1024};
  std::iota(buffer_->As<float>(), buffer_->As<float>() + 1024, 1.0f);
  daemon_->Hold();
  std::vector<Work> works;
  for (int i = 0; i < 128; ++i) {
    auto gather = comm_->AllGatherV({.input = *buffer_, .output = **output, .counts = counts});
    ASSERT_TRUE(gather.ok()) << gather.status();
    works.push_back(*gather);
    auto exchange = comm_->AllToAllV(
        {.input = *buffer_, .output = **output, .send_counts = counts, .receive_counts = counts});
    ASSERT_TRUE(exchange.ok()) << exchange.status();
    works.push_back(*exchange);
  }
  EXPECT_EQ(
      comm_->AllGatherV({.input = *buffer_, .output = **output, .counts = counts}).status().code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(daemon_->buffers(), 3u);  // one holds all counts
  daemon_->Release();
  for (const Work& work : works) EXPECT_EQ(work.Wait(), absl::OkStatus());
  EXPECT_EQ(places_used(), works.size());
  EXPECT_EQ((*output)->As<float>()[1023], 1024.0f);
  // Their places are free again.
  auto again = comm_->AllGatherV({.input = *buffer_, .output = **output, .counts = counts});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Wait(), absl::OkStatus());
  EXPECT_EQ(places_used(), works.size());
}

TEST_F(ClientTest, WakesADaemonThatSleeps) {
  Start();
  for (int i = 0; i < 20; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
    auto work = comm_->Barrier();
    ASSERT_TRUE(work.ok()) << work.status();
    ASSERT_EQ(work->Wait(absl::Now() + absl::Seconds(5)), absl::OkStatus());
  }
}

TEST_F(ClientTest, SaysThatNoDaemonListens) {
  auto node = Node::Connect({"/nonexistent", absl::Seconds(1)});
  EXPECT_EQ(node.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(node.status()), HasSubstr("no daemon at /nonexistent/memory.sock"));
}

TEST_F(ClientTest, RefusesAPathThatNoSocketCanHave) {
  auto node = Node::Connect({"/" + std::string(200, 'x'), absl::Seconds(1)});
  EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, PassesOnTheDaemonsRefusal) {
  FakeDaemon::Options options;
  options.edit_reply = [](v1::MemoryRequestKind, v1::MemoryReply& reply) {
    reply.code = static_cast<uint32_t>(absl::StatusCode::kPermissionDenied);
    memset(reply.message, 'm', sizeof reply.message);  // not terminated
  };
  daemon_ = FakeDaemon::Start(options);
  auto node = Connect();
  EXPECT_EQ(node.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Text(node.status()), std::string(128, 'm'));
}

TEST_F(ClientTest, HearsARefusalThatComesBeforeItsRequest) {
  FakeDaemon::Options options;
  options.refuse = true;
  daemon_ = FakeDaemon::Start(options);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(Connect().status().code(), absl::StatusCode::kPermissionDenied) << i;
  }
}

TEST_F(ClientTest, RefusesAnswersOfAnotherProtocol) {
  const std::vector<std::function<void(v1::MemoryReply&)>> edits = {
      [](v1::MemoryReply& r) { r.magic = 7; },
      [](v1::MemoryReply& r) { r.code = 17; },
  };
  for (const auto& edit : edits) {
    FakeDaemon::Options options;
    options.edit_reply = [&](v1::MemoryRequestKind, v1::MemoryReply& reply) { edit(reply); };
    daemon_ = FakeDaemon::Start(options);
    auto node = Connect();
    EXPECT_EQ(node.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(Text(node.status()), HasSubstr("memory protocol, version 1"));
  }
}

TEST_F(ClientTest, RefusesAnAnswerWithoutItsDescriptor) {
  FakeDaemon::Options options;
  options.send_descriptor = false;
  daemon_ = FakeDaemon::Start(options);
  auto node = Connect();
  EXPECT_EQ(node.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Text(node.status()), HasSubstr("0 descriptors, expected 1"));
}

TEST_F(ClientTest, GivesUpOnADaemonThatDoesNotAnswer) {
  FakeDaemon::Options options;
  options.answer_hello = false;
  daemon_ = FakeDaemon::Start(options);
  auto node = Connect(absl::Milliseconds(50));
  EXPECT_EQ(node.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, RefusesMemoryThatCanShrink) {
  FakeDaemon::Options options;
  options.seal = false;
  daemon_ = FakeDaemon::Start(options);
  node_ = *Connect();
  auto buffer = node_->Allocate(4096);
  EXPECT_EQ(buffer.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Text(buffer.status()), HasSubstr("not sealed against shrinking"));
  EXPECT_EQ(daemon_->buffers(), 0);  // given back
  EXPECT_EQ(Create().status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(daemon_->communicators(), 0);
}

TEST_F(ClientTest, RefusesABufferOfAnotherSize) {
  FakeDaemon::Options options;
  for (uint64_t wrong : {uint64_t{1}, uint64_t{1} << 40}) {
    options.edit_reply = [wrong](v1::MemoryRequestKind kind, v1::MemoryReply& reply) {
      if (kind == v1::MemoryRequestKind::kBuffer) reply.size = wrong;
    };
    daemon_ = FakeDaemon::Start(options);
    node_ = *Connect();
    EXPECT_EQ(node_->Allocate(4096).status().code(), absl::StatusCode::kInternal);
  }
}

TEST_F(ClientTest, FreesBuffersAndCommunicators) {
  Start();
  EXPECT_EQ(daemon_->buffers(), 1);
  EXPECT_EQ(daemon_->communicators(), 1);
  EXPECT_EQ(node_->Allocate(uint64_t{1} << 40).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(node_->Allocate(0).status().code(), absl::StatusCode::kInvalidArgument);
  comm_.reset();
  buffer_.reset();
  EXPECT_EQ(daemon_->buffers(), 0);
  EXPECT_EQ(daemon_->communicators(), 0);
  node_.reset();
  EXPECT_TRUE(Soon([&] { return daemon_->applications() == 0; }));
}

TEST_F(ClientTest, RefusesABufferOfAnotherNode) {
  Start();
  auto other = *Connect();
  auto foreign = *other->Allocate(4096);
  auto work = comm_->AllReduce({.input = *foreign, .count = 1024});
  EXPECT_EQ(work.status().code(), absl::StatusCode::kInvalidArgument);
  BufferRef nowhere(*foreign);
  nowhere.buffer = nullptr;
  EXPECT_EQ(comm_->Recv({.output = nowhere, .count = 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, PassesOnWhyACommunicatorDoesNotStand) {
  FakeDaemon::Options options;
  for (const absl::Status& reason : {absl::DeadlineExceededError("rank 3 has not joined"),
                                     absl::DeadlineExceededError("Deadline Exceeded"),
                                     absl::UnavailableError("10.0.0.1:7400: connection refused")}) {
    options.create_status = reason;
    daemon_ = FakeDaemon::Start(options);
    node_ = *Connect();
    EXPECT_EQ(Create().status(), reason);
  }
}

TEST_F(ClientTest, RefusesANameThatIsNoText) {
  Start();
  const auto comm = Communicator::Create(*node_, {"tr\xC3(in", "127.0.0.1:7400"}, 0, 1);
  EXPECT_EQ(comm.status(),
            absl::InvalidArgumentError("the communicator's name is not UTF-8 at byte 2"));
  const auto lost = Communicator::Create(*node_, {"train", "127.0.0.1\xFF"}, 0, 1);
  EXPECT_EQ(lost.status(),
            absl::InvalidArgumentError("the rendezvous' root_address is not UTF-8 at byte 9"));
  EXPECT_EQ(daemon_->communicators(), 1);  // the fixture's
}

TEST_F(ClientTest, AbortsWithWhatIsReadableOfAReason) {
  Start();
  comm_->Abort("loss \xFF is NaN");
  EXPECT_TRUE(
      Soon([&] { return daemon_->abort_reasons() == std::vector<std::string>{"loss ? is NaN"}; }));
}

TEST_F(ClientTest, RefusesCommunicatorsThatCannotBe) {
  Start();
  const CommunicatorOptions good;
  auto create = [&](const std::string& name, int rank, int size, CommunicatorOptions options) {
    return Communicator::Create(*node_, {name, "a:1"}, rank, size, options).status().code();
  };
  auto with = [&](auto change) {
    CommunicatorOptions options = good;
    change(options);
    return options;
  };
  const std::vector<absl::StatusCode> codes = {
      create("", 0, 1, good),
      create(std::string(129, 'n'), 0, 1, good),
      create("n", 1, 1, good),
      create("n", -1, 1, good),
      create("n", 0, 0, good),
      create("n", 0, 65535, good),
      create("n", 0, 1, with([](auto& o) { o.chunk_log2 = 13; })),
      create("n", 0, 1, with([](auto& o) { o.lanes = 17; })),
      create("n", 0, 1, with([](auto& o) { o.lanes = -1; })),
      create("n", 0, 1, with([](auto& o) { o.suite = "ROT13"; })),
      create("n", 0, 1, with([](auto& o) { o.deadline = absl::ZeroDuration(); })),
      create("n", 0, 1, with([](auto& o) { o.create_timeout = absl::InfiniteDuration(); })),
  };
  EXPECT_THAT(codes, ::testing::Each(absl::StatusCode::kInvalidArgument));
}

TEST_F(ClientTest, RefusesTheOperationAfter256) {
  Start();
  daemon_->Hold();
  std::vector<Work> works;
  for (int i = 0; i < 256; ++i) {
    auto work = Reduce();
    ASSERT_TRUE(work.ok()) << i << ": " << work.status();
    works.push_back(*work);
  }
  EXPECT_EQ(Reduce().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(works[0].Test());
  daemon_->Release();
  for (const Work& work : works) EXPECT_EQ(work.Wait(), absl::OkStatus());
  EXPECT_TRUE(Reduce().ok());
}

TEST_F(ClientTest, CompletesInTheOrderOfSubmission) {
  Start();
  for (int round = 0; round < 20; ++round) {
    std::vector<Work> works;
    for (int i = 0; i < 200; ++i) works.push_back(*Reduce());
    ASSERT_EQ(works.back().Wait(), absl::OkStatus());
    for (const Work& work : works) ASSERT_TRUE(work.Test());
  }
}

TEST_F(ClientTest, TakesOperationsFromManyThreads) {
  Start();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        auto work = comm_->Barrier();
        if (work.ok() && work->Wait(absl::Now() + absl::Seconds(20)).ok()) ++good;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 1200);
}

TEST_F(ClientTest, KeepsTheDeadlineOfAWait) {
  Start();
  daemon_->Hold();
  auto work = Reduce();
  const absl::Time start = absl::Now();
  EXPECT_EQ(work->Wait(start + absl::Milliseconds(30)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(30));
  EXPECT_EQ(work->Wait(absl::InfinitePast()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(comm_->AsyncError(), absl::OkStatus());  // the operation goes on
  daemon_->Release();
  EXPECT_EQ(work->Wait(), absl::OkStatus());
}

TEST_F(ClientTest, GivesEveryWorkTheSameReason) {
  Start();
  auto before = Reduce();
  ASSERT_EQ(before->Wait(), absl::OkStatus());
  daemon_->Hold();
  auto first = Reduce();
  auto second = Reduce();
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(20));
    daemon_->FailRings(absl::DataLossError("rank 2: tag mismatch"));
  });
  const absl::Status expected = absl::DataLossError("rank 2: tag mismatch");
  EXPECT_EQ(second->Wait(), expected);
  EXPECT_EQ(first->Wait(), expected);
  later.join();
  daemon_->FailRings(absl::CancelledError("a later reason"));
  EXPECT_EQ(comm_->AsyncError(), expected);
  EXPECT_EQ(Reduce().status(), expected);
  EXPECT_EQ(before->Wait(), absl::OkStatus());  // what had succeeded stays so
}

TEST_F(ClientTest, AbortsThroughTheDaemonWithoutWaiting) {
  Start();
  daemon_->Hold();
  auto work = Reduce();
  comm_->Abort("loss is NaN");
  comm_->Abort("a later reason");
  EXPECT_EQ(work->Wait(), absl::CancelledError("loss is NaN"));
  EXPECT_TRUE(
      Soon([&] { return daemon_->abort_reasons() == std::vector<std::string>{"loss is NaN"}; }));
}

TEST_F(ClientTest, AbortEndsWithoutTheDaemonsAnswer) {
  FakeDaemon::Options options;
  options.answer_abort = false;
  daemon_ = FakeDaemon::Start(options);
  node_ = *Connect(absl::Milliseconds(300));
  comm_ = *Create();
  daemon_->Hold();
  auto work = comm_->Barrier();
  const absl::Time start = absl::Now();
  comm_->Abort("stuck");
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(250));
  const absl::Status status = work->Wait(start + absl::Seconds(10));
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Text(status), HasSubstr("aborted here: stuck"));
}

TEST_F(ClientTest, SeesTheDaemonDieDuringAWait) {
  Start();
  daemon_->Hold();
  auto work = Reduce();
  std::thread killer([&] {
    absl::SleepFor(absl::Milliseconds(20));
    daemon_->Die();
  });
  const absl::Status status = work->Wait(absl::Now() + absl::Seconds(20));
  killer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr("the daemon at " + daemon_->runtime_dir() + " went away"));
  EXPECT_EQ(comm_->AsyncError(), status);
  EXPECT_EQ(Reduce().status(), status);
  EXPECT_EQ(node_->Allocate(64).status().code(), absl::StatusCode::kUnavailable);
  const absl::Status created = Create().status();
  EXPECT_EQ(created.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(created), HasSubstr("workload.sock went away"));
  comm_->Abort("too late");
}

TEST_F(ClientTest, AWorkOutlivesItsCommunicatorWithoutHarm) {
  Start();
  daemon_->Hold();
  auto work = Reduce();
  comm_.reset();
  EXPECT_EQ(work->Wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, WorksAgainWithANewDaemon) {
  Start();
  comm_.reset();
  buffer_.reset();
  daemon_->Die();
  Start();
  auto work = Reduce();
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->Wait(), absl::OkStatus());
}

}  // namespace
}  // namespace caravan::client
