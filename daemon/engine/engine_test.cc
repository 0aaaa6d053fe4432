// SPDX-License-Identifier: Apache-2.0
//
// What operations give, and what they count, on engines of one process over real sockets.
#include "daemon/engine/engine.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "daemon/engine/engine_testing.h"
#include "daemon/engine/operations_testing.h"

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

  OperationForTest Submit(CommunicatorForTest& comm, const collective::OperationSpec& spec,
                          bool in_place = false) {
    return SubmitForTest(comm, spec, ++seed_, in_place);
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> comm_;

 private:
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
        for (bool in_place : {false, true}) CheckForTest(*comm_, Submit(*comm_, spec, in_place));
        if (HasFatalFailure()) return;
      }
    }
  }
  CheckCountersForTest(*comm_);
}

TEST_P(EngineTest, ReducesEachTypeWithEachReduction) {
  for (int type = 1; type <= 12; ++type) {
    for (int reduce = 1; reduce <= 5; ++reduce) {
      CheckForTest(*comm_, Submit(*comm_, Spec(Op::kAllReduce, 5003, static_cast<DataType>(type),
                                               static_cast<ReduceOp>(reduce))));
      if (HasFatalFailure()) return;
    }
  }
  CheckCountersForTest(*comm_);
}

TEST_P(EngineTest, RunsManyOutstandingOperationsInOrder) {
  std::vector<OperationForTest> runs;
  for (int i = 0; i < 60; ++i) {
    const Op op = kCollectives[i % std::size(kCollectives)];
    runs.push_back(Submit(*comm_, Spec(op, i * 331, DataType::kInt32), i % 3 == 0));
    if (comm_->size() > 1 && i % 5 == 0) {
      runs.push_back(Submit(*comm_, Spec(Op::kSend, i * 1000, DataType::kFloat64)));
    }
    if (i % 7 == 0) runs.push_back(Submit(*comm_, Spec(Op::kBarrier, 0)));
  }
  for (const OperationForTest& run : runs) {
    CheckForTest(*comm_, run);
    if (HasFatalFailure()) return;
  }
  CheckCountersForTest(*comm_);
}

TEST_P(EngineTest, KeepsCommunicatorsApart) {
  auto other = MakeCommunicator(2);
  auto third = MakeCommunicator(3);
  std::vector<std::pair<CommunicatorForTest*, OperationForTest>> runs;
  for (int i = 0; i < 12; ++i) {
    for (CommunicatorForTest* comm : {comm_.get(), other.get(), third.get()}) {
      runs.emplace_back(comm, Submit(*comm, Spec(Op::kAllReduce, 20000 + i)));
    }
  }
  third->FailAll(absl::AbortedError("ended on purpose"));
  for (auto& [comm, run] : runs) {
    if (comm != third.get()) CheckForTest(*comm, run);
  }
  CheckCountersForTest(*comm_);
  CheckCountersForTest(*other);
}

TEST_P(EngineTest, MovesManyMebibytesInBoundedMemory) {
  // 32 MiB, less through tiny socket buffers.
  const uint64_t count = GetParam().socket_buffer > 0 ? 1 << 19 : 8 << 20;
  CheckForTest(*comm_, Submit(*comm_, Spec(Op::kAllReduce, count), true));
  CheckCountersForTest(*comm_);
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
