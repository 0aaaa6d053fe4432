// SPDX-License-Identifier: Apache-2.0
//
// Plans of hundreds and thousands of ranks: that they fit together, and that building one costs
// what this one rank does, in time and in memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan.h"
#include "collective/simulate/scale_check.h"
#include "collective/simulate/shapes_for_test.h"

namespace {

// What lives on the heap, and the most that did: gtest and the rest are a constant beside plans.
size_t g_allocated = 0;
size_t g_peak = 0;

constexpr size_t kHeader = alignof(std::max_align_t);

}  // namespace

void* operator new(size_t size) {
  void* const block = std::malloc(size + kHeader);
  if (block == nullptr) std::abort();
  *static_cast<size_t*>(block) = size;
  g_allocated += size;
  g_peak = g_allocated > g_peak ? g_allocated : g_peak;
  return static_cast<char*>(block) + kHeader;
}

void operator delete(void* at) noexcept {
  if (at == nullptr) return;
  void* const block = static_cast<char*>(at) - kHeader;
  g_allocated -= *static_cast<size_t*>(block);
  std::free(block);
}

void operator delete(void* at, size_t) noexcept { operator delete(at); }

namespace caravan::collective {
namespace {

OperationSpec Spec(const ShapeForTest& shape, int size, uint64_t block_bytes) {
  OperationSpec spec;
  spec.op = shape.op;
  spec.algorithm = shape.algorithm;
  // Somebody opens every rank's whole vector there: that is for short ones.
  const bool whole = shape.algorithm == Algorithm::kOneShot || shape.op == Operation::kReduce;
  spec.count = CountForTest(shape.op, spec.dtype, whole ? 1 : size, block_bytes);
  spec.chunk_log2 = 14;
  return spec;
}

// Rank `rank`'s view without the others': counts are the same between every two ranks.
OperationSpec ViewOf(OperationSpec spec, int size) {
  if (!HasCounts(spec.op)) return spec;
  spec.counts.assign(static_cast<size_t>(size), spec.count / static_cast<uint64_t>(size));
  spec.count = spec.counts.front() * static_cast<uint64_t>(size);
  if (spec.op == Operation::kAllToAllV) spec.receive_counts = spec.counts;
  return spec;
}

class EveryScale : public testing::TestWithParam<ShapeForTest> {};

TEST_P(EveryScale, FitsTogetherOverAllRanks) {
  for (const int size : {64, 512}) {
    ScaleCheck check;
    const OperationSpec spec = ViewOf(Spec(GetParam(), size, 4100), size);
    for (int rank = 0; rank < size; ++rank) {
      const auto plan = BuildPlan(spec, rank, size);
      ASSERT_TRUE(plan.ok()) << plan.status();
      check.Add(**plan);
    }
    EXPECT_TRUE(check.Verify().ok()) << check.Verify() << ", " << size << " ranks";
    EXPECT_GT(check.records(), 0u);
  }
}

// The first, the last and two between: what one rank of 4,096 holds to build its plan.
TEST_P(EveryScale, TakesMemoryForOneRanksStepsOnly) {
  constexpr int kSize = 4096;
  const OperationSpec spec = ViewOf(Spec(GetParam(), kSize, 4100), kSize);
  for (const int rank : {0, 1, kSize / 2 + 7, kSize - 1}) {
    const size_t before = g_allocated;
    g_peak = before;
    const auto plan = BuildPlan(spec, rank, kSize);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const size_t steps = (*plan)->steps.size();
    const size_t edges = (*plan)->dependents.size();
    const size_t sends = (*plan)->targets.size();
    // A step, its stream and index entries, doubled for vectors that grow; and a few numbers a
    // rank and chunk for the partition.
    const size_t chunks = spec.WholeBytes(kSize) >> spec.chunk_log2;
    const size_t bound = 600 * steps + 50 * (edges + sends) + 100 * (kSize + chunks) + 8192;
    EXPECT_LE(g_peak - before, bound) << "rank " << rank << ", " << steps << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryScale, testing::ValuesIn(AllShapesForTest()),
                         [](const auto& info) { return NameForTest(info.param); });

// Trees and their forwards at the largest size, over all ranks.
TEST(Scale, FitsTogetherAt4096Ranks) {
  constexpr int kSize = 4096;
  for (const ShapeForTest& shape :
       {ShapeForTest{Operation::kBroadcast, Algorithm::kBinomialForward},
        {Operation::kBroadcast, Algorithm::kChainForward},
        {Operation::kReduce, Algorithm::kRing},
        {Operation::kGather, Algorithm::kDirect},
        {Operation::kScatter, Algorithm::kDirect}}) {
    ScaleCheck check;
    for (int rank = 0; rank < kSize; ++rank) {
      const auto plan = BuildPlan(Spec(shape, kSize, 64), rank, kSize);
      ASSERT_TRUE(plan.ok()) << plan.status();
      check.Add(**plan);
    }
    EXPECT_TRUE(check.Verify().ok()) << check.Verify() << ", " << NameForTest(shape);
  }
}

// A rank that does little in an operation of many ranks must not pay for the others.
TEST(Scale, GivesARankFarFromTheRootAShortPlan) {
  constexpr int kSize = 4096;
  for (const Operation op : {Operation::kGather, Operation::kScatter, Operation::kReduce}) {
    const OperationSpec spec = Spec({op, Algorithm::kDirect}, kSize, 4100);
    const size_t before = g_allocated;
    g_peak = before;
    const auto plan = BuildPlan(spec, 4000, kSize);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const uint64_t own = spec.InputBytes(4000, kSize) + spec.OutputBytes(4000, kSize);
    EXPECT_LE((*plan)->steps.size(), (own >> spec.chunk_log2) + 2);
    EXPECT_LE(g_peak - before, 600 * (*plan)->steps.size() + 8192);
  }
}

TEST(ScaleCheck, NoticesARecordThatIsLostMisroutedOrRenamed) {
  const OperationSpec spec = Spec({Operation::kAllToAll, Algorithm::kBruckForward}, 8, 4100);
  const auto verdict = [&](auto spoil) {
    ScaleCheck check;
    for (int rank = 0; rank < 8; ++rank) {
      Plan plan = **BuildPlan(spec, rank, 8);
      if (rank == 3) spoil(plan);
      check.Add(plan);
    }
    return check.Verify();
  };
  EXPECT_TRUE(verdict([](Plan&) {}).ok());
  EXPECT_FALSE(verdict([](Plan& p) { p.steps.pop_back(); }).ok());
  EXPECT_FALSE(verdict([](Plan& p) { p.targets[0] = 6; }).ok());
  EXPECT_FALSE(verdict([](Plan& p) { p.steps[0].via ^= 1; }).ok());
  EXPECT_FALSE(verdict([](Plan& p) { p.steps[0].bytes -= 4; }).ok());
  EXPECT_FALSE(verdict([](Plan& p) { std::swap(p.steps[0].chunk, p.steps[0].bytes); }).ok());
}

}  // namespace
}  // namespace caravan::collective
