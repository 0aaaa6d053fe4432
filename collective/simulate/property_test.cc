// SPDX-License-Identifier: Apache-2.0
//
// Runs all ranks' plans in the simulator and compares with the reference: results bit for bit,
// counters, slots, scratch and depth with what the plans say, sums with collectives' closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan.h"
#include "collective/simulate/reference.h"
#include "collective/simulate/shapes_for_test.h"
#include "collective/simulate/simulate.h"

namespace caravan::collective {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                               DataType::kFloat64, DataType::kInt32,    DataType::kInt64,
                               DataType::kInt8,    DataType::kUint8,    DataType::kInt16,
                               DataType::kUint16,  DataType::kUint32,   DataType::kUint64};
constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                                    ReduceOp::kAvg};

uint64_t Sum(const std::vector<Counters>& all, uint64_t Counters::*field) {
  uint64_t sum = 0;
  for (const Counters& counters : all) sum += counters.*field;
  return sum;
}

// The table "what encryption costs", summed over ranks.
struct Totals {
  uint64_t sealed = 0;
  uint64_t opened = 0;
  uint64_t received = 0;
};

// How many hops blocks for all distances make together: Bruck moves a block once a set bit.
uint64_t BruckHops(uint64_t ranks) {
  uint64_t hops = 0;
  for (uint64_t distance = 1; distance < ranks; ++distance) hops += std::popcount(distance);
  return hops;
}

Totals TableTotals(const std::vector<OperationSpec>& specs) {
  const OperationSpec& spec = specs.front();
  const uint64_t ranks = specs.size();
  const uint64_t others = ranks - 1;
  const uint64_t n = spec.bytes();
  Totals totals;
  switch (spec.op) {
    case Operation::kAllReduce:
      if (spec.algorithm == Algorithm::kOneShot) {
        totals = {n * ranks, n * ranks * others};
      } else {
        totals = {n * (spec.algorithm == Algorithm::kRing ? 2 * others : ranks), 2 * n * others};
      }
      break;
    case Operation::kAllGather:
      totals = {n * ranks, n * ranks * others};
      break;
    case Operation::kAllGatherV:
    case Operation::kBroadcast:
      totals = {n, n * others};
      break;
    case Operation::kReduceScatter:
      totals = {n * ranks * others, n * ranks * others};
      break;
    case Operation::kReduce:
    case Operation::kGather:
    case Operation::kScatter:
      totals = {n * others, n * others};
      break;
    case Operation::kAllToAll:
      totals = {n * ranks * others, n * ranks * others};
      if (spec.algorithm == Algorithm::kBruckForward)
        totals.received = n * ranks * BruckHops(ranks);
      break;
    case Operation::kAllToAllV:
      for (size_t r = 0; r < specs.size(); ++r) {
        totals.sealed += specs[r].bytes() - specs[r].counts[r] * SizeOf(spec.dtype);
      }
      totals.opened = totals.sealed;
      break;
    case Operation::kSend:
    case Operation::kRecv:
      totals = {n, n};
      break;
    case Operation::kBarrier:
      break;
  }
  if (totals.received == 0) totals.received = totals.opened;
  return totals;
}

void ExpectSame(const Counters& counted, const Counters& planned) {
  EXPECT_EQ(counted.sealed, planned.sealed);
  EXPECT_EQ(counted.opened, planned.opened);
  EXPECT_EQ(counted.forwarded, planned.forwarded);
  EXPECT_EQ(counted.sent, planned.sent);
  EXPECT_EQ(counted.received, planned.received);
  EXPECT_TRUE(counted == planned) << "record counts differ";
}

// Builds, runs and checks one operation. `specs[r]` is rank r's view.
void Check(const std::vector<OperationSpec>& specs, const SimulationOptions& options) {
  const int ranks = static_cast<int>(specs.size());
  const OperationSpec& spec = specs.front();
  SCOPED_TRACE(absl::StrCat(spec.Describe(), " by ", Name(spec.algorithm).data(), " on ", ranks,
                            " ranks, ", options.lanes, " lanes of ", options.lane_capacity,
                            options.in_place ? ", in place" : "", ", seed ", options.seed));
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<Bytes> inputs;
  for (int r = 0; r < ranks; ++r) {
    auto plan = BuildPlan(specs[r], r, ranks);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(specs[r].Canonical(), spec.Canonical());
    EXPECT_LE((*plan)->scratch_bytes, (4 * ranks * uint64_t{1}) << spec.chunk_log2);
    plans.push_back(*std::move(plan));
    inputs.push_back(
        RandomNumbersForTest(spec.dtype, plans.back()->input_bytes(), options.seed * 100 + r));
  }
  const auto result = Simulate(plans, inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();

  const std::vector<Bytes> expected = ExpectedOutputsForTest(specs, inputs);
  uint32_t slots = 0;
  for (int r = 0; r < ranks; ++r) {
    SCOPED_TRACE(absl::StrCat("rank ", r));
    EXPECT_TRUE(result->outputs[r] == expected[r]) << "wrong result";
    ExpectSame(result->counters[r], plans[r]->counters);
    slots = std::max(slots, plans[r]->forward_slots());
  }
  EXPECT_LE(result->peak_forward_slots, slots);
  if (ranks == 1) return;
  const Totals totals = TableTotals(specs);
  EXPECT_EQ(Sum(result->counters, &Counters::sealed), totals.sealed);
  EXPECT_EQ(Sum(result->counters, &Counters::opened), totals.opened);
  EXPECT_EQ(Sum(result->counters, &Counters::received), totals.received);
  EXPECT_EQ(Sum(result->counters, &Counters::sent), totals.received);
  if (spec.count > 0) {
    EXPECT_EQ(result->crypto_depth, plans[0]->crypto_depth);
  }
}

class EveryShape : public testing::TestWithParam<ShapeForTest> {
 protected:
  OperationSpec Spec(DataType type, ReduceOp reduce, uint64_t count) const {
    OperationSpec spec;
    spec.op = GetParam().op;
    spec.algorithm = GetParam().algorithm;
    spec.dtype = type;
    spec.reduce = reduce;
    spec.count = spec.op == Operation::kBarrier ? 0 : count;
    spec.chunk_log2 = 14;
    return spec;
  }

  uint64_t CountFor(uint64_t block_bytes, DataType type, int ranks) const {
    return CountForTest(GetParam().op, type, ranks, block_bytes);
  }
};

TEST_P(EveryShape, IsRightForEverySizeAndNumberOfRanks) {
  uint64_t seed = 1;
  std::mt19937_64 random(7);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const uint64_t p = static_cast<uint64_t>(ranks);
    // The last two: blocks of one chunk and an odd rest, and of a few chunks.
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, p - 1, p, p + 1, uint64_t{1009},
                                 CountFor(5000, DataType::kFloat64, ranks) + 3,
                                 CountFor(ranks < 9 ? 20000 : 9000, DataType::kInt32, ranks) + 1}) {
      OperationSpec spec =
          Spec(kTypes[random() % std::size(kTypes)], kReductions[random() % 5], count);
      spec.root = static_cast<uint16_t>(random() % p);
      SimulationOptions options;
      options.lanes = 1 + static_cast<int>(random() % 3);
      options.lane_capacity = 1 + static_cast<uint32_t>(random() % 3);
      options.in_place = random() % 2 == 0;
      options.seed = seed++;
      Check(ViewsForTest(spec, ranks, seed), options);
    }
  }
}

TEST_P(EveryShape, IsRightForEveryTypeAndReduction) {
  uint64_t seed = 1;
  for (const DataType type : kTypes) {
    for (const ReduceOp reduce : kReductions) {
      for (const int ranks : {2, 5}) {
        SimulationOptions options;
        options.seed = seed++;
        options.in_place = seed % 3 == 0;
        Check(ViewsForTest(Spec(type, reduce, 337), ranks, seed), options);
      }
    }
  }
}

// Long enough that windows, slots and scratch are used over and over.
TEST_P(EveryShape, EndsWithFullLanesAndManyChunks) {
  uint64_t seed = 1;
  for (const int ranks : {2, 3, 5, 9}) {
    for (const bool in_place : {false, true}) {
      for (const uint32_t capacity : {1u, 3u}) {
        SimulationOptions options;
        options.lanes = 1 + static_cast<int>(seed % 3);
        options.lane_capacity = capacity;
        options.in_place = in_place;
        options.seed = seed++;
        const uint64_t block = (uint64_t{ranks > 5 ? 6u : 9u} << 14) + 36;
        OperationSpec spec =
            Spec(DataType::kInt32, ReduceOp::kSum, CountFor(block, DataType::kInt32, ranks));
        spec.root = static_cast<uint16_t>(seed % ranks);
        Check(ViewsForTest(spec, ranks, seed), options);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryShape, testing::ValuesIn(AllShapesForTest()),
                         [](const auto& info) { return NameForTest(info.param); });

TEST(SendRecv, IsRightForEverySize) {
  uint64_t seed = 1;
  for (const uint64_t count : {0, 1, 7, 4096, 4097, 50000}) {
    for (const int lanes : {1, 3}) {
      OperationSpec send;
      send.op = Operation::kSend;
      send.algorithm = Algorithm::kDirect;
      send.count = count;
      send.chunk_log2 = 14;
      send.peer = 1;
      OperationSpec recv = send;
      recv.op = Operation::kRecv;
      recv.peer = 0;
      Check({send, recv}, {.lanes = lanes, .lane_capacity = 1, .seed = seed++});
    }
  }
}

// Bytes a rank, where the table's formulas are whole numbers.
struct RankBytes {
  uint64_t sealed = 0;
  uint64_t opened = 0;
};

// `m` bytes in the whole vector; rank 0 is the root.
RankBytes TableOf(const ShapeForTest& shape, uint64_t m, int p, int rank) {
  const uint64_t others = static_cast<uint64_t>(p - 1);
  const uint64_t block = m / static_cast<uint64_t>(p);
  const uint64_t qm = block * others;
  const bool root = rank == 0;
  switch (shape.op) {
    case Operation::kAllReduce:
      if (shape.algorithm == Algorithm::kOneShot) return {m, others * m};
      return {shape.algorithm == Algorithm::kRing ? 2 * qm : m, 2 * qm};
    case Operation::kAllGather:
      return {block, qm};
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return {qm, qm};
    case Operation::kReduce:
      if (shape.algorithm == Algorithm::kRing) return {root ? 0 : m, rank == 1 ? 0 : m};
      return {root ? 0 : m, root ? others * m : 0};
    case Operation::kGather:
      return {root ? 0 : block, root ? qm : 0};
    case Operation::kScatter:
      return {root ? qm : 0, root ? 0 : block};
    default:
      return {root ? m : 0, root ? 0 : m};
  }
}

TEST(CryptoBytes, EqualTheTableOnEveryRank) {
  for (const int p : {2, 3, 4, 8, 17}) {
    for (const ShapeForTest& shape : AllShapesForTest()) {
      if (shape.op == Operation::kBarrier || HasCounts(shape.op)) continue;
      OperationSpec spec;
      spec.op = shape.op;
      spec.algorithm = shape.algorithm;
      spec.count = 100000 * (CountsBlocks(spec.op) ? 1 : p);
      for (int r = 0; r < p; ++r) {
        SCOPED_TRACE(absl::StrCat(NameForTest(shape), " rank ", r, " of ", p));
        const auto plan = BuildPlan(spec, r, p);
        ASSERT_TRUE(plan.ok()) << plan.status();
        const RankBytes expected = TableOf(shape, spec.WholeBytes(p), p, r);
        EXPECT_EQ((*plan)->counters.sealed, expected.sealed);
        EXPECT_EQ((*plan)->counters.opened, expected.opened);
      }
    }
  }
}

}  // namespace
}  // namespace caravan::collective
