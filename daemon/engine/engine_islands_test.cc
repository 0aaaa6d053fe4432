// SPDX-License-Identifier: Apache-2.0
//
// Several ranks on each engine: results, counters, and what ends a communicator of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/islands/islands.h"
#include "collective/simulate/reference.h"
#include "collective/simulate/shapes_for_test.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using collective::DataType;
using collective::Islands;
using collective::OperationSpec;
using ::testing::HasSubstr;
using Op = collective::Operation;

class EngineIslandsTest : public ::testing::TestWithParam<Islands> {
 protected:
  void SetUp() override {
    engines_ = StartEnginesForTest(GetParam().nodes);
    comm_ = Make(absl::Seconds(30));
  }

  std::unique_ptr<CommunicatorForTest> Make(absl::Duration deadline, uint8_t epoch = 1) {
    CommunicatorOptionsForTest options;
    options.local = GetParam().local;
    options.deadline = deadline;
    options.epoch = epoch;
    return std::make_unique<CommunicatorForTest>(PointersForTest(engines_), options);
  }

  uint64_t Submit(CommunicatorForTest& comm, int rank, const OperationSpec& view,
                  const collective::Bytes& input, BufferForTest* output) {
    const int p = comm.size();
    const BufferForTest from = comm.Allocate(rank, input.size());
    *output = comm.Allocate(rank, view.OutputBytes(rank, p));
    v1::SubmitEntry entry =
        EntryForTest(view.op, view.count, view.dtype, from, *output, view.reduce);
    if (!input.empty()) std::memcpy(from.data, input.data(), input.size());
    if (collective::HasCounts(view.op)) {
      const BufferForTest counts = comm.Allocate(rank, 2 * sizeof(uint64_t) * p);
      auto* to = reinterpret_cast<uint64_t*>(counts.data);
      to = std::copy(view.counts.begin(), view.counts.end(), to);
      std::copy(view.receive_counts.begin(), view.receive_counts.end(), to);
      entry.counts_buffer = counts.id;
    }
    entry.root = view.root;
    entry.peer = view.peer;
    entry.algorithm = static_cast<uint8_t>(view.algorithm);
    return comm.ring(rank).Submit(entry);
  }

  void Check(const OperationSpec& spec) {
    const int p = comm_->size();
    const std::vector<OperationSpec> views = collective::ViewsForTest(spec, p, ++seed_);
    std::vector<collective::Bytes> inputs;
    std::vector<BufferForTest> outputs(p);
    std::vector<uint64_t> ids;
    for (int r = 0; r < p; ++r) {
      inputs.push_back(
          collective::RandomNumbersForTest(spec.dtype, views[r].InputBytes(r, p), ++seed_));
      ids.push_back(Submit(*comm_, r, views[r], inputs[r], &outputs[r]));
    }
    const std::vector<collective::Bytes> expected =
        collective::ExpectedOutputsForTest(views, inputs);
    for (int r = 0; r < p; ++r) {
      const absl::Status done = comm_->ring(r).Wait(ids[r]);
      ASSERT_TRUE(done.ok()) << spec.Describe() << ", rank " << r << ": " << done << " "
                             << comm_->WaitFault(r, absl::ZeroDuration()).value_or(Fault{}).message;
      if (expected[r].empty()) continue;
      ASSERT_EQ(std::memcmp(outputs[r].data, expected[r].data(), expected[r].size()), 0)
          << spec.Describe() << " by " << static_cast<int>(spec.algorithm) << ", rank " << r;
    }
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> comm_;
  uint64_t seed_ = 0;
};

TEST_P(EngineIslandsTest, GivesTheReferenceResultForEachOperation) {
  for (const collective::ShapeForTest& shape : collective::AllShapesForTest()) {
    OperationSpec spec;
    spec.op = shape.op;
    spec.algorithm = shape.algorithm;
    spec.dtype = DataType::kInt32;
    spec.chunk_log2 = 14;
    if (!collective::SelectFor(spec, GetParam(), collective::DefaultSelectorTable()).ok()) continue;
    for (const uint64_t count : {0, 1, 4099, 30001}) {
      spec.count = spec.op == Op::kBarrier ? 0 : count;
      spec.root = static_cast<uint16_t>(comm_->size() - 1);
      Check(spec);
      if (HasFatalFailure()) return;
    }
  }
  for (int r = 0; r < comm_->size(); r += GetParam().local) {
    const GroupStatus status = comm_->Status(r);
    EXPECT_EQ(status.counted, status.expected) << "rank " << r;
    EXPECT_EQ(status.local, GetParam().local);
    EXPECT_EQ(status.rank, r);
    if (GetParam().nodes == 1) {
      EXPECT_EQ(status.counted.sealed, 0u);
    }
  }
}

TEST_P(EngineIslandsTest, BeginsOnceEveryLocalRankHasSubmitted) {
  OperationSpec spec;
  spec.count = 1000;
  const int p = comm_->size();
  std::vector<BufferForTest> outputs(p);
  const collective::Bytes input(4000, 0);
  for (int r = 0; r + 1 < p; ++r) Submit(*comm_, r, spec, input, &outputs[r]);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(comm_->Status(p - 1).operations, 0u);
  const uint64_t id = Submit(*comm_, p - 1, spec, input, &outputs[p - 1]);
  EXPECT_TRUE(comm_->ring(p - 1).Wait(id).ok());
  EXPECT_TRUE(comm_->ring(0).Wait(0).ok());
}

TEST_P(EngineIslandsTest, NamesLocalRanksThatContradictEachOther) {
  OperationSpec spec;
  spec.count = 1000;
  const collective::Bytes input(4004, 0);
  const int p = comm_->size();
  BufferForTest output;
  for (int r = 0; r < p; ++r) {
    spec.count = r == p - 1 ? 1001 : 1000;
    Submit(*comm_, r, spec, input, &output);
  }
  const auto fault = comm_->WaitFault(p - 1);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(fault->message, HasSubstr(absl::StrCat("rank ", p - 1, " called allreduce")));
  EXPECT_THAT(fault->message, HasSubstr("[OPERATION_MISMATCH]"));
  comm_->FailAll(absl::Status(fault->code, fault->message));
  EXPECT_FALSE(comm_->ring(0).Wait(0).ok());
  EXPECT_FALSE(comm_->ring(p - 1).Wait(0).ok());
}

TEST_P(EngineIslandsTest, NamesALocalRankThatDoesNotSubmit) {
  auto impatient = Make(absl::Milliseconds(200), 2);
  OperationSpec spec;
  spec.count = 10;
  const collective::Bytes input(40, 0);
  BufferForTest output;
  Submit(*impatient, 0, spec, input, &output);
  const auto fault = impatient->WaitFault(0);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(fault->message, HasSubstr("has not called what rank 0 called: allreduce"));
}

TEST_P(EngineIslandsTest, RefusesMessagesBetweenRanks) {
  OperationSpec spec;
  spec.op = Op::kSend;
  spec.peer = 1;
  spec.count = 1;
  BufferForTest output;
  Submit(*comm_, 0, spec, collective::Bytes(4, 0), &output);
  const auto fault = comm_->WaitFault(0);
  ASSERT_TRUE(fault.has_value());
  EXPECT_THAT(fault->message, HasSubstr("split it so that each node has one"));
}

// What it waits for moves, though for longer than the deadline.
TEST(EngineIslands, ARankMaySubmitAheadOfItsSibling) {
  static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
  Engine::Options options;
  options.ciphers = sealed;
  options.step_hook = [](uint16_t, uint64_t sequence, const collective::Step&) {
    if (sequence == 0) absl::SleepFor(absl::Milliseconds(15));
  };
  const auto slow = *Engine::Start(std::move(options));
  const auto quick = StartEnginesForTest(1);
  CommunicatorOptionsForTest communicator;
  communicator.local = 2;
  communicator.deadline = absl::Milliseconds(500);
  CommunicatorForTest comm({slow.get(), quick[0].get()}, communicator);
  constexpr uint64_t kCount = 1 << 17;
  const auto submit = [&](int rank) {
    const BufferForTest buffer = comm.Allocate(rank, kCount * sizeof(float));
    return comm.ring(rank).Submit(
        EntryForTest(Op::kAllReduce, kCount, DataType::kFloat32, buffer, buffer));
  };
  for (int rank = 0; rank < comm.size(); ++rank) submit(rank);
  submit(0);
  const absl::Time start = absl::Now();
  for (int rank = 0; rank < comm.size(); ++rank)
    ASSERT_EQ(comm.ring(rank).Wait(0), absl::OkStatus());
  EXPECT_GT(absl::Now() - start, communicator.deadline);
  for (int rank = 1; rank < comm.size(); ++rank) submit(rank);
  for (int rank = 0; rank < comm.size(); ++rank)
    ASSERT_EQ(comm.ring(rank).Wait(1), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Shapes, EngineIslandsTest,
                         ::testing::Values(Islands{1, 4}, Islands{2, 2}, Islands{3, 3}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.nodes, "Nodes", info.param.local,
                                               "Ranks");
                         });

}  // namespace
}  // namespace caravan::engine
