// SPDX-License-Identifier: Apache-2.0
//
// What operations give, and what they count, on engines of one process over real sockets.
#include "daemon/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/plan.h"
#include "collective/reference.h"
#include "collective/shapes_for_test.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using collective::DataType;
using collective::ReduceOp;
using Op = collective::Operation;

struct Shape {
  int size = 2;
  int lanes = 1;
  bool tcp = false;
  int socket_buffer = 0;
};

std::string NameOf(const ::testing::TestParamInfo<Shape>& info) {
  return absl::StrCat(info.param.size, "ranks", info.param.lanes, "lanes",
                      info.param.tcp ? "Tcp" : "Unix", info.param.socket_buffer > 0 ? "Tiny" : "");
}

// One operation on all ranks, from submission to the compared result.
struct Running {
  std::vector<collective::OperationSpec> specs;
  std::vector<BufferForTest> outputs;
  std::vector<uint64_t> ids;
  std::vector<collective::Bytes> expected;
  std::string what;
};

class EngineTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    engines_ = StartEnginesForTest(GetParam().size);
    comm_ = MakeCommunicator(1);
  }
  std::unique_ptr<CommunicatorForTest> MakeCommunicator(uint8_t epoch) {
    CommunicatorOptionsForTest options;
    options.lanes = GetParam().lanes;
    options.tcp = GetParam().tcp;
    options.socket_buffer = GetParam().socket_buffer;
    options.epoch = epoch;
    return std::make_unique<CommunicatorForTest>(PointersForTest(engines_), options);
  }

  // `spec` as rank 0 sees it; Send goes from rank 0 to the last rank.
  Running Submit(CommunicatorForTest& comm, collective::OperationSpec spec, bool in_place = false) {
    const int p = comm.size();
    Running run;
    std::vector<collective::Bytes> inputs;
    spec.chunk_log2 = 14;
    for (collective::OperationSpec own : collective::ViewsForTest(spec, p, ++seed_)) {
      const int r = static_cast<int>(run.specs.size());
      if (spec.op == Op::kSend) {
        own.op = r == 0 ? Op::kSend : Op::kRecv;
        own.peer = static_cast<uint16_t>(r == 0 ? p - 1 : 0);
      }
      run.specs.push_back(own);
      inputs.push_back(collective::RandomNumbersForTest(spec.dtype, own.InputBytes(r, p), ++seed_));
    }
    if (spec.op == Op::kSend) {
      // Only the ends of the transfer take part.
      run.specs = {run.specs.front(), run.specs.back()};
      inputs = {inputs.front(), inputs.back()};
    }
    run.what = absl::StrCat(spec.Describe(), " by algorithm ", static_cast<int>(spec.algorithm),
                            in_place ? " in place" : "");
    run.expected = spec.op == Op::kSend
                       ? std::vector<collective::Bytes>{{}, inputs.front()}
                       : collective::ExpectedOutputsForTest(Resolved(run.specs, p), inputs);
    for (size_t i = 0; i < run.specs.size(); ++i) {
      const int rank = RankOf(run, i, p);
      const collective::OperationSpec& own = run.specs[i];
      const uint64_t out = run.expected[i].size();
      const collective::InPlace shared = own.InPlaceOffsets(rank);
      BufferForTest input;
      BufferForTest output;
      v1::SubmitEntry entry;
      if (in_place && shared.allowed && spec.op != Op::kSend) {
        output = input = comm.Allocate(
            rank, std::max<uint64_t>(shared.output + out, shared.input + inputs[i].size()));
        entry = EntryForTest(own.op, own.count, spec.dtype, input, output, spec.reduce);
        entry.input_offset = shared.input;
        entry.output_offset = shared.output;
        output.data += entry.output_offset;
      } else {
        input = comm.Allocate(rank, inputs[i].size());
        output = comm.Allocate(rank, out);
        entry = EntryForTest(own.op, own.count, spec.dtype, input, output, spec.reduce);
      }
      if (collective::HasCounts(own.op)) {
        const BufferForTest counts = comm.Allocate(rank, 2 * sizeof(uint64_t) * p);
        auto* to = reinterpret_cast<uint64_t*>(counts.data);
        to = std::copy(own.counts.begin(), own.counts.end(), to);
        std::copy(own.receive_counts.begin(), own.receive_counts.end(), to);
        entry.counts_buffer = counts.id;
      }
      if (!inputs[i].empty()) {
        std::memcpy(input.data + entry.input_offset, inputs[i].data(), inputs[i].size());
      }
      entry.root = spec.root;
      entry.peer = run.specs[i].peer;
      entry.algorithm = static_cast<uint8_t>(spec.algorithm);
      run.outputs.push_back(output);
      run.ids.push_back(comm.ring(rank).Submit(entry));
    }
    return run;
  }
  void Check(CommunicatorForTest& comm, const Running& run) {
    for (size_t i = 0; i < run.specs.size(); ++i) {
      const int rank = RankOf(run, i, comm.size());
      const absl::Status done = comm.ring(rank).Wait(run.ids[i]);
      ASSERT_TRUE(done.ok())
          << run.what << ", rank " << rank << ": " << done << " "
          << comm.WaitFault(rank, absl::ZeroDuration()).value_or(Fault{}).message;
      if (run.expected[i].empty()) continue;
      ASSERT_EQ(std::memcmp(run.outputs[i].data, run.expected[i].data(), run.expected[i].size()), 0)
          << run.what << ", rank " << rank;
    }
  }
  void CheckCounters(CommunicatorForTest& comm) {
    for (int rank = 0; rank < comm.size(); ++rank) {
      const GroupStatus status = comm.Status(rank);
      EXPECT_EQ(status.counted, status.expected) << "rank " << rank;
      EXPECT_TRUE(status.failure.ok());
      EXPECT_EQ(status.tag_failures, 0u);
      EXPECT_GT(status.operations, 0u);
    }
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> comm_;

 private:
  static int RankOf(const Running& run, size_t i, int p) {
    return run.specs[0].op == Op::kSend && i == 1 ? p - 1 : static_cast<int>(i);
  }
  static std::vector<collective::OperationSpec> Resolved(
      std::vector<collective::OperationSpec> specs, int p) {
    for (collective::OperationSpec& spec : specs) {
      spec.algorithm = collective::Select(spec, p, collective::DefaultSelectorTable())->algorithm;
    }
    return specs;
  }
  uint64_t seed_ = 0;
};

collective::OperationSpec Spec(Op op, uint64_t count, DataType type = DataType::kFloat32,
                               ReduceOp reduce = ReduceOp::kSum,
                               Algorithm algorithm = Algorithm::kAuto) {
  collective::OperationSpec spec;
  spec.op = op;
  spec.count = count;
  spec.dtype = type;
  spec.reduce = reduce;
  spec.algorithm = algorithm;
  return spec;
}

constexpr Op kCollectives[] = {Op::kAllReduce,  Op::kAllGather, Op::kReduceScatter, Op::kBroadcast,
                               Op::kAllGatherV, Op::kGather,    Op::kScatter,       Op::kReduce,
                               Op::kAllToAll,   Op::kAllToAllV};

TEST_P(EngineTest, GivesTheReferenceResultForEachAlgorithmAndSize) {
  for (Op op : kCollectives) {
    for (Algorithm algorithm : collective::AlgorithmsFor(op)) {
      // Nothing, one element, odd, a chunk and one element, many chunks.
      for (uint64_t count : {0, 1, 1237, 4097, 90001}) {
        collective::OperationSpec spec =
            Spec(op, count, DataType::kFloat32, ReduceOp::kSum, algorithm);
        spec.root = static_cast<uint16_t>(comm_->size() / 2);
        for (bool in_place : {false, true}) Check(*comm_, Submit(*comm_, spec, in_place));
        if (HasFatalFailure()) return;
      }
    }
  }
  CheckCounters(*comm_);
}

TEST_P(EngineTest, ReducesEachTypeWithEachReduction) {
  for (int type = 1; type <= 12; ++type) {
    for (int reduce = 1; reduce <= 5; ++reduce) {
      Check(*comm_, Submit(*comm_, Spec(Op::kAllReduce, 5003, static_cast<DataType>(type),
                                        static_cast<ReduceOp>(reduce))));
      if (HasFatalFailure()) return;
    }
  }
  CheckCounters(*comm_);
}

TEST_P(EngineTest, RunsManyOutstandingOperationsInOrder) {
  std::vector<Running> runs;
  for (int i = 0; i < 60; ++i) {
    const Op op = kCollectives[i % std::size(kCollectives)];
    runs.push_back(Submit(*comm_, Spec(op, i * 331, DataType::kInt32), i % 3 == 0));
    if (comm_->size() > 1 && i % 5 == 0) {
      runs.push_back(Submit(*comm_, Spec(Op::kSend, i * 1000, DataType::kFloat64)));
    }
    if (i % 7 == 0) runs.push_back(Submit(*comm_, Spec(Op::kBarrier, 0)));
  }
  for (const Running& run : runs) {
    Check(*comm_, run);
    if (HasFatalFailure()) return;
  }
  CheckCounters(*comm_);
}

TEST_P(EngineTest, KeepsCommunicatorsApart) {
  auto other = MakeCommunicator(2);
  auto third = MakeCommunicator(3);
  std::vector<std::pair<CommunicatorForTest*, Running>> runs;
  for (int i = 0; i < 12; ++i) {
    for (CommunicatorForTest* comm : {comm_.get(), other.get(), third.get()}) {
      runs.emplace_back(comm, Submit(*comm, Spec(Op::kAllReduce, 20000 + i)));
    }
  }
  third->FailAll(absl::AbortedError("ended on purpose"));
  for (auto& [comm, run] : runs) {
    if (comm != third.get()) Check(*comm, run);
  }
  CheckCounters(*comm_);
  CheckCounters(*other);
}

TEST_P(EngineTest, MovesManyMebibytesInBoundedMemory) {
  // 32 MiB, less through tiny socket buffers.
  const uint64_t count = GetParam().socket_buffer > 0 ? 1 << 19 : 8 << 20;
  Check(*comm_, Submit(*comm_, Spec(Op::kAllReduce, count), true));
  CheckCounters(*comm_);
  EXPECT_LT(comm_->Status(0).memory_bytes, 1u << 20);
}

TEST_P(EngineTest, SeesEarlierResultsWhenOperationsShareABuffer) {
  const int p = comm_->size();
  constexpr uint64_t kCount = 30000;
  constexpr int kRounds = 5;
  std::vector<BufferForTest> buffers;
  for (int r = 0; r < p; ++r) {
    buffers.push_back(comm_->Allocate(r, kCount * 4));
    auto* x = reinterpret_cast<int32_t*>(buffers[r].data);
    for (uint64_t i = 0; i < kCount; ++i) x[i] = static_cast<int32_t>(i + r);
  }
  std::vector<uint64_t> last(p);
  for (int round = 0; round < kRounds; ++round) {
    for (int r = 0; r < p; ++r) {
      last[r] = comm_->ring(r).Submit(
          EntryForTest(Op::kAllReduce, kCount, DataType::kInt32, buffers[r], buffers[r]));
    }
  }
  int64_t factor = 1;
  for (int round = 1; round < kRounds; ++round) factor *= p;
  for (int r = 0; r < p; ++r) {
    ASSERT_TRUE(comm_->ring(r).Wait(last[r]).ok());
    const auto* x = reinterpret_cast<const int32_t*>(buffers[r].data);
    for (uint64_t i = 0; i < kCount; ++i) {
      const int64_t sum = static_cast<int64_t>(i) * p + p * (p - 1) / 2;
      ASSERT_EQ(x[i], static_cast<int32_t>(sum * factor)) << "rank " << r << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EngineTest,
                         ::testing::Values(Shape{1, 1, false, 0}, Shape{2, 1, false, 0},
                                           Shape{2, 3, true, 0}, Shape{3, 2, false, 4096},
                                           Shape{4, 1, true, 4096}, Shape{8, 1, false, 0}),
                         NameOf);

}  // namespace
}  // namespace caravan::engine
