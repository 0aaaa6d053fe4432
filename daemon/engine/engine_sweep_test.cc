// SPDX-License-Identifier: Apache-2.0
//
// Every operation by every algorithm, at the borders of elements and chunks, over 1 to 16 ranks and
// sockets down to the smallest that the kernel makes: right, without a hang, counted as planned, in
// the memory that README.md states.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan.h"
#include "collective/simulate/shapes_for_test.h"
#include "crypto/record.h"
#include "daemon/engine/engine_testing.h"
#include "daemon/engine/operations_testing.h"

namespace caravan::engine {
namespace {

using collective::DataType;
using collective::ShapeForTest;
using Op = collective::Operation;

struct Setting {
  int size;
  int lanes;
  bool tcp;
  int socket_buffer;  // 0: the kernel's choice; 1 is below every minimum
};

constexpr int kChunkLog2 = 14;
constexpr uint64_t kChunk = uint64_t{1} << kChunkLog2;

// Bytes of a block: nothing, an element, an odd number of them, around a chunk, some chunks.
std::vector<uint64_t> Blocks(const Setting& setting) {
  // A window of 2 KiB waits for timers: a record that does not fit it is enough.
  if (setting.tcp && setting.socket_buffer > 0) return {0, 4, 2500};
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  return {0, kChunk + 4};
#else
  if (setting.size > 8) return {0, 4, 1236, kChunk + 4};
  return {0, 4, 1236, kChunk - 4, kChunk, kChunk + 4, 3 * kChunk + 100};
#endif
}

class Sweep : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    engines_ = StartEnginesForTest(GetParam().size);
    CommunicatorOptionsForTest options;
    options.lanes = GetParam().lanes;
    options.chunk_log2 = kChunkLog2;
    options.tcp = GetParam().tcp;
    options.socket_buffer = GetParam().socket_buffer;
    comm_ = std::make_unique<CommunicatorForTest>(PointersForTest(engines_), options);
  }
  // All sizes at once, then one after another.
  void Run(const ShapeForTest& shape) {
    std::vector<OperationForTest> runs;
    for (const uint64_t block : Blocks(GetParam())) {
      collective::OperationSpec spec;
      spec.op = shape.op;
      spec.algorithm = shape.algorithm;
      spec.root = static_cast<uint16_t>(comm_->size() / 2);
      spec.count = collective::CountForTest(shape.op, spec.dtype, comm_->size(), block);
      // Blocks of two lengths, where the operation itself divides the vector.
      if (block == 1236 || block == 2500) ++spec.count;
      ++seed_;
      runs.push_back(SubmitForTest(*comm_, spec, seed_, /*in_place=*/seed_ % 2 == 0));
      slots_ = std::max(slots_, Slots(runs.back()));
      if (shape.op == Op::kBarrier) break;
    }
    for (const OperationForTest& run : runs) CheckForTest(*comm_, run);
  }
  uint64_t MemoryBound() const {
    const Setting& setting = GetParam();
    const uint64_t records =
        3 * static_cast<uint64_t>(setting.lanes) * static_cast<uint64_t>(setting.size - 1) + 8 +
        2 * slots_;
    return records * (kChunk + crypto::kRecordOverhead) + kChunk;
  }

  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<CommunicatorForTest> comm_;

 private:
  static uint64_t Slots(const OperationForTest& run) {
    uint64_t slots = 0;
    if (run.specs[0].op == Op::kSend) return 0;
    const int size = static_cast<int>(run.specs.size());
    for (int rank = 0; rank < size; ++rank) {
      auto plan = collective::BuildPlan(run.specs[rank], rank, size);
      EXPECT_TRUE(plan.ok()) << plan.status();
      if (plan.ok()) slots = std::max<uint64_t>(slots, (*plan)->forward_slots());
    }
    return slots;
  }
  uint64_t seed_ = 0;
  uint64_t slots_ = 0;
};

TEST_P(Sweep, IsRightAndCountedInBoundedMemory) {
  std::vector<ShapeForTest> shapes = collective::AllShapesForTest();
  if (comm_->size() > 1) shapes.push_back({Op::kSend, collective::Algorithm::kDirect});
  for (const ShapeForTest& shape : shapes) {
    Run(shape);
    if (HasFatalFailure()) return;
  }
  CheckCountersForTest(*comm_);
  for (int rank = 0; rank < comm_->size(); ++rank) {
    EXPECT_LE(comm_->Status(rank).memory_bytes, MemoryBound()) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Sweep,
                         ::testing::Values(Setting{1, 1, false, 0}, Setting{2, 1, false, 0},
                                           Setting{3, 2, false, 0}, Setting{5, 1, false, 0},
                                           Setting{8, 1, false, 0}, Setting{16, 1, false, 0},
                                           Setting{2, 1, false, 1}, Setting{3, 1, false, 1},
                                           Setting{5, 2, false, 1}, Setting{8, 1, false, 1},
                                           Setting{16, 1, false, 1}, Setting{2, 1, true, 1},
                                           Setting{5, 1, true, 0}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.size, "Ranks", info.param.lanes, "Lanes",
                                               info.param.tcp ? "Tcp" : "Unix",
                                               info.param.socket_buffer > 0 ? "Smallest" : "");
                         });

}  // namespace
}  // namespace caravan::engine
