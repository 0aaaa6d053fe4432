// SPDX-License-Identifier: Apache-2.0
//
// What applications, peers and time can do to an engine: each fault has its reason, and other
// communicators of the same engine go on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "crypto/record.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::DataType;
using Op = collective::Operation;
using ::testing::HasSubstr;

constexpr uint64_t kCount = 20000;

class EngineFaultTest : public ::testing::Test {
 protected:
  EngineFaultTest() : engines_(StartEnginesForTest(2)) {
    CommunicatorOptionsForTest options;
    options.epoch = 9;
    bystander_ = std::make_unique<CommunicatorForTest>(PointersForTest(engines_), options);
  }
  void TearDown() override { ExpectWorks(*bystander_); }

  std::unique_ptr<CommunicatorForTest> Make(absl::Duration deadline = absl::Seconds(30)) {
    CommunicatorOptionsForTest options;
    options.deadline = deadline;
    return std::make_unique<CommunicatorForTest>(PointersForTest(engines_), options);
  }
  uint64_t Submit(CommunicatorForTest& comm, int rank, Op op, uint64_t count = kCount,
                  DataType type = DataType::kFloat32) {
    const BufferForTest input = comm.Allocate(rank, count * 8);
    const BufferForTest output = comm.Allocate(rank, count * 8 * 2);
    v1::SubmitEntry entry = EntryForTest(op, count, type, input, output);
    if (op == Op::kSend || op == Op::kRecv) entry.peer = static_cast<uint16_t>(1 - rank);
    return comm.ring(rank).Submit(entry);
  }
  void ExpectWorks(CommunicatorForTest& comm) {
    const uint64_t a = Submit(comm, 0, Op::kAllReduce);
    const uint64_t b = Submit(comm, 1, Op::kAllReduce);
    EXPECT_TRUE(comm.ring(0).Wait(a).ok());
    EXPECT_TRUE(comm.ring(1).Wait(b).ok());
  }
  Fault Await(CommunicatorForTest& comm, int rank, std::string_view word) {
    const std::optional<Fault> fault = comm.WaitFault(rank);
    EXPECT_TRUE(fault.has_value());
    if (!fault.has_value()) return Fault();
    EXPECT_THAT(fault->message, HasSubstr(absl::StrCat("[", std::string(word), "]")));
    EXPECT_THAT(fault->message, HasSubstr(absl::StrCat("rank ", rank)));
    EXPECT_EQ(fault->rank, rank);
    return *fault;
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> bystander_;
};

struct Mismatch {
  const char* name;
  Op op0, op1;
  uint64_t count0, count1;
  DataType type1;
};

class MismatchTest : public EngineFaultTest, public ::testing::WithParamInterface<Mismatch> {};

TEST_P(MismatchTest, IsNamedAsSuch) {
  const Mismatch& m = GetParam();
  auto comm = Make();
  Submit(*comm, 0, m.op0, m.count0);
  Submit(*comm, 1, m.op1, m.count1, m.type1);
  const Fault fault = Await(*comm, 1, "OPERATION_MISMATCH");
  EXPECT_TRUE(fault.mismatch);
  EXPECT_EQ(fault.peer, 0);
  EXPECT_EQ(fault.code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(fault.message, HasSubstr("rank 0 (node-0) runs another operation"));
  EXPECT_EQ(comm->Status(1).tag_failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Each, MismatchTest,
    ::testing::Values(
        Mismatch{"Size", Op::kAllReduce, Op::kAllReduce, kCount, kCount + 1, DataType::kFloat32},
        Mismatch{"Empty", Op::kAllReduce, Op::kAllReduce, 0, kCount, DataType::kFloat32},
        Mismatch{"Type", Op::kAllReduce, Op::kAllReduce, kCount, kCount, DataType::kInt32},
        Mismatch{"Operation", Op::kAllReduce, Op::kAllGather, kCount, kCount, DataType::kFloat32},
        Mismatch{"Order", Op::kSend, Op::kAllReduce, kCount, kCount, DataType::kFloat32},
        Mismatch{"SendSize", Op::kSend, Op::kRecv, kCount, kCount / 2, DataType::kFloat32}),
    [](const auto& info) { return info.param.name; });

// Only its two ends know a pair's count, so no digest holds it: the header's own fields do.
TEST_F(EngineFaultTest, PairWhoseCountsDisagreeIsNamed) {
  for (const uint64_t sent : {0, 3, 5, 5000}) {
    auto comm = Make();
    const uint64_t counts[2][4] = {{1, sent, 1, 7}, {7, 1, 4, 1}};  // rank 1 expects 4 from rank 0
    for (int rank = 0; rank < 2; ++rank) {
      const BufferForTest input = comm->Allocate(rank, 1 << 16);
      const BufferForTest output = comm->Allocate(rank, 1 << 16);
      const BufferForTest area = comm->Allocate(rank, sizeof(counts[rank]));
      std::memcpy(area.data, counts[rank], sizeof(counts[rank]));
      v1::SubmitEntry entry = EntryForTest(Op::kAllToAllV, counts[rank][0] + counts[rank][1],
                                           DataType::kFloat32, input, output);
      entry.counts_buffer = area.id;
      comm->ring(rank).Submit(entry);
    }
    const Fault fault = Await(*comm, 1, "RECORD_UNEXPECTED");
    EXPECT_EQ(fault.peer, 0);
    EXPECT_THAT(fault.message, HasSubstr("peer rank 0 (node-0), alltoallv(f32 × 8 sent in all)"));
    EXPECT_THAT(fault.message, HasSubstr("expected 16, 1, 1"));
  }
}

TEST_F(EngineFaultTest, PeerThatLeavesDuringAnOperationIsNamed) {
  auto comm = Make();
  const uint64_t id = Submit(*comm, 0, Op::kAllReduce);
  engines_[1]->Remove(comm->epoch());
  const Fault fault = Await(*comm, 0, "PEER_CLOSED");
  EXPECT_EQ(fault.peer, 1);
  EXPECT_THAT(fault.message, HasSubstr("rank 1 (node-1) left the communicator"));
  comm->FailAll(absl::UnavailableError(fault.message));
  EXPECT_EQ(comm->ring(0).Wait(id), absl::UnavailableError(fault.message));
}

TEST_F(EngineFaultTest, PeerThatLeftIsNamedByTheNextOperation) {
  auto comm = Make();
  ExpectWorks(*comm);
  engines_[1]->Remove(comm->epoch());
  EXPECT_FALSE(comm->WaitFault(0, absl::Milliseconds(100)).has_value());
  Submit(*comm, 0, Op::kBarrier, 0);
  EXPECT_EQ(Await(*comm, 0, "PEER_CLOSED").peer, 1);
}

TEST_F(EngineFaultTest, DeadlineNamesThePeerAndTheStep) {
  auto comm = Make(absl::Milliseconds(150));
  ExpectWorks(*comm);
  const absl::Time start = absl::Now();
  Submit(*comm, 0, Op::kAllReduce);
  const Fault fault = Await(*comm, 0, "DEADLINE");
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(150));
  EXPECT_EQ(fault.peer, 1);
  EXPECT_EQ(fault.sequence, 1u);
  EXPECT_EQ(fault.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(fault.message, HasSubstr("waiting for a record that rank 1"));
}

struct BadEntry {
  const char* name;
  std::function<void(v1::SubmitEntry&)> spoil;
  const char* word;
};

class BadEntryTest : public EngineFaultTest, public ::testing::WithParamInterface<BadEntry> {};

TEST_P(BadEntryTest, IsTheApplicationsFault) {
  auto comm = Make();
  const BufferForTest buffer = comm->Allocate(0, 4096);
  v1::SubmitEntry entry = EntryForTest(Op::kAllReduce, 16, DataType::kFloat32, buffer, buffer);
  GetParam().spoil(entry);
  comm->ring(0).ring()->entries[0] = entry;
  comm->ring(0).StoreTail(1);
  const Fault fault = Await(*comm, 0, GetParam().word);
  EXPECT_EQ(fault.peer, 0);  // its own application
  EXPECT_EQ(fault.code, absl::StatusCode::kInvalidArgument);
  comm->FailAll(absl::InvalidArgumentError(fault.message));
  EXPECT_TRUE(absl::IsInvalidArgument(comm->ring(0).Wait(0)));
}

using Entry = v1::SubmitEntry;
INSTANTIATE_TEST_SUITE_P(
    Each, BadEntryTest,
    ::testing::Values(
        BadEntry{"NoOperation", [](Entry& e) { e.op = 0; }, "APPLICATION_RING"},
        BadEntry{"Operation", [](Entry& e) { e.op = 14; }, "APPLICATION_RING"},
        BadEntry{"Type", [](Entry& e) { e.dtype = 13; }, "APPLICATION_RING"},
        BadEntry{"Reduction", [](Entry& e) { e.reduce = 0; }, "APPLICATION_RING"},
        BadEntry{"Algorithm", [](Entry& e) { e.algorithm = 9; }, "APPLICATION_RING"},
        BadEntry{"AlgorithmThatDoesNotFit", [](Entry& e) { e.algorithm = 4; }, "APPLICATION_RING"},
        BadEntry{"Reserved", [](Entry& e) { e.reserved = 1; }, "APPLICATION_RING"},
        BadEntry{"UnaskedCounts", [](Entry& e) { e.counts_buffer = 1; }, "APPLICATION_RING"},
        BadEntry{"NoCounts", [](Entry& e) { e.op = 8; }, "APPLICATION_BUFFER"},
        BadEntry{"CountsThatLeaveTheirBuffer",
                 [](Entry& e) { e.op = 8, e.counts_buffer = 1, e.counts_offset = 4088; },
                 "APPLICATION_BUFFER"},
        BadEntry{"CountsAskew",
                 [](Entry& e) { e.op = 8, e.counts_buffer = 1, e.counts_offset = 4; },
                 "APPLICATION_RING"},
        // The buffer is zero: counts that do not sum up to the entry's.
        BadEntry{"CountsThatContradict", [](Entry& e) { e.op = 13, e.counts_buffer = 1; },
                 "APPLICATION_RING"},
        BadEntry{"AllToAllInPlace", [](Entry& e) { e.op = 12; }, "APPLICATION_BUFFER"},
        BadEntry{"Id", [](Entry& e) { e.id = 5; }, "APPLICATION_RING"},
        BadEntry{"Count", [](Entry& e) { e.count = UINT64_MAX / 4 + 2; }, "APPLICATION_RING"},
        BadEntry{"BarrierCount", [](Entry& e) { e.op = 7; }, "APPLICATION_RING"},
        BadEntry{"Root", [](Entry& e) { e.op = 4, e.root = 2; }, "APPLICATION_RING"},
        BadEntry{"Peer", [](Entry& e) { e.op = 5, e.peer = 7; }, "APPLICATION_RING"},
        BadEntry{"Self", [](Entry& e) { e.op = 5, e.peer = 0; }, "APPLICATION_RING"},
        BadEntry{"NoBuffer", [](Entry& e) { e.input_buffer = 0; }, "APPLICATION_BUFFER"},
        BadEntry{"Buffer", [](Entry& e) { e.output_buffer = 77; }, "APPLICATION_BUFFER"},
        BadEntry{"Size", [](Entry& e) { e.count = 1025; }, "APPLICATION_BUFFER"},
        BadEntry{"Offset", [](Entry& e) { e.input_offset = 4096 - 63; }, "APPLICATION_BUFFER"},
        BadEntry{"WrappingOffset", [](Entry& e) { e.output_offset = UINT64_MAX - 31; },
                 "APPLICATION_BUFFER"},
        BadEntry{"Overlap", [](Entry& e) { e.output_offset = 4; }, "APPLICATION_BUFFER"}),
    [](const auto& info) { return info.param.name; });

TEST_F(EngineFaultTest, TamperedIndicesAreTheApplicationsFault) {
  for (const uint64_t tail : {uint64_t{1000}, UINT64_MAX, uint64_t{0}}) {
    auto comm = Make();
    ExpectWorks(*comm);
    comm->ring(0).StoreTail(tail);
    EXPECT_EQ(Await(*comm, 0, "APPLICATION_RING").peer, 0);
    comm->FailAll(absl::InvalidArgumentError("the application tampered with its ring"));
  }
}

TEST_F(EngineFaultTest, FailCompletesOutstandingAndLaterOperationsWithTheFirstReason) {
  auto comm = Make();
  std::vector<uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Submit(*comm, 0, Op::kAllReduce));
  const absl::Status reason = absl::AbortedError("the first reason");
  comm->FailAll(reason);
  comm->FailAll(absl::InternalError("a later reason"));
  for (uint64_t id : ids) EXPECT_EQ(comm->ring(0).Wait(id), reason);
  EXPECT_EQ(comm->ring(0).Wait(Submit(*comm, 0, Op::kAllReduce)), reason);
  EXPECT_EQ(comm->ring(1).Wait(Submit(*comm, 1, Op::kSend)), reason);
  EXPECT_EQ(comm->Status(0).failure, reason);
}

TEST_F(EngineFaultTest, KeepsRunningWhenAnApplicationMakesItsWakeDescriptorBlock) {
  auto one = Make();
  CommunicatorOptionsForTest options;
  options.epoch = 2;
  CommunicatorForTest two(PointersForTest(engines_), options);
  ExpectWorks(*one);
  ExpectWorks(two);
  for (CommunicatorForTest* comm : {one.get(), &two}) {
    for (int rank = 0; rank < 2; ++rank) {
      const int fd = comm->wake_fd(rank);
      ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
    }
  }
  for (int i = 0; i < 20; ++i) {
    // Asleep, woken without a reason, then given work.
    absl::SleepFor(absl::Milliseconds(2));
    for (int k = 0; k < 3; ++k) eventfd_write(one->wake_fd(0), 1);
    uint64_t taken;
    (void)!read(one->wake_fd(0), &taken, sizeof(taken));
    ExpectWorks(*one);
    ExpectWorks(two);
  }
}

TEST_F(EngineFaultTest, GivesAByteByByteSenderADeadline) {
  CommunicatorOptionsForTest options;
  options.deadline = absl::Milliseconds(200);
  int slow[2] = {-1, -1};
  options.connect = [&](int, int, int) {
    const auto [a, ours] = ConnectedPairForTest(false, 0);
    const auto [b, others] = ConnectedPairForTest(false, 0);
    slow[0] = ours;
    slow[1] = others;
    return std::pair(a, b);
  };
  CommunicatorForTest comm(PointersForTest(engines_), options);
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    const uint8_t version = crypto::kRecordVersion;
    while (!stop && send(slow[0], &version, 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
      absl::SleepFor(absl::Milliseconds(20));
    }
  });
  Submit(comm, 0, Op::kAllReduce);
  Await(comm, 0, "DEADLINE");
  stop = true;
  sender.join();
  close(slow[0]);
  close(slow[1]);
}

TEST_F(EngineFaultTest, StopFailsWhatIsOutstanding) {
  auto engines = StartEnginesForTest(2);
  CommunicatorForTest comm(PointersForTest(engines), {});
  const uint64_t id = Submit(comm, 0, Op::kAllReduce);
  engines[0]->Stop();
  engines[0]->Stop();
  EXPECT_TRUE(absl::IsCancelled(comm.ring(0).Wait(id)));
  EXPECT_TRUE(engines[0]->List().empty());
}

TEST_F(EngineFaultTest, DescribesSubmittedOperations) {
  auto comm = Make();
  ExpectWorks(*comm);
  auto description = engines_[0]->DescribeOperation(comm->epoch(), 0);
  ASSERT_TRUE(description.ok());
  EXPECT_THAT(*description, HasSubstr("allreduce"));
  EXPECT_TRUE(absl::IsNotFound(engines_[0]->DescribeOperation(comm->epoch(), 7).status()));
  EXPECT_TRUE(absl::IsNotFound(engines_[0]->DescribeOperation({}, 0).status()));
}

TEST_F(EngineFaultTest, RefusesAContradictoryConfiguration) {
  GroupConfig config;
  config.rank = 2;
  config.size = 2;
  config.local.push_back(
      {*SharedMemory::Create("ring", sizeof(v1::SharedRing)), std::make_shared<BufferTable>(4096)});
  EXPECT_TRUE(absl::IsInvalidArgument(engines_[0]->AddGroup(std::move(config))));
}

TEST_F(EngineFaultTest, SleepsWhenIdleAndWakesForTheApplication) {
  auto comm = Make();
  for (int i = 0; i < 20; ++i) {
    ExpectWorks(*comm);
    absl::SleepFor(absl::Milliseconds(2));
  }
  for (int i = 0; i < 1000 && comm->ring(0).ring()->daemon_sleeping.load() == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(comm->ring(0).ring()->daemon_sleeping.load(), 1u);
}

TEST(EngineStepHook, StopsARankAtANamedStep) {
  auto first = StartEnginesForTest(1);
  static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
  std::atomic<bool> stop{true};
  Engine::Options options;
  options.ciphers = sealed;
  options.step_hook = [&](uint16_t rank, uint64_t sequence, const collective::Step& step) {
    while (rank == 1 && sequence == 0 && step.kind == collective::StepKind::kOpen &&
           step.chunk == 1 && stop.load()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  };
  auto second = *Engine::Start(std::move(options));
  CommunicatorOptionsForTest communicator;
  communicator.deadline = absl::Milliseconds(200);
  CommunicatorForTest comm({first[0].get(), second.get()}, communicator);
  for (int rank = 0; rank < 2; ++rank) {
    const BufferForTest buffer = comm.Allocate(rank, 1 << 20);
    comm.ring(rank).Submit(
        EntryForTest(Op::kAllReduce, 1 << 18, DataType::kFloat32, buffer, buffer));
  }
  const std::optional<Fault> fault = comm.WaitFault(0);
  stop = false;
  ASSERT_TRUE(fault.has_value());
  EXPECT_THAT(fault->message, HasSubstr("[DEADLINE]"));
  EXPECT_EQ(fault->peer, 1);
}

}  // namespace
}  // namespace caravan::engine
