// SPDX-License-Identifier: Apache-2.0
//
// Runs all ranks' plans in the simulator and compares with the reference: results bit for bit,
// counters, slots, scratch and depth with what the plans say, sums with collectives' closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/plan.h"
#include "collective/reference.h"
#include "collective/selector.h"
#include "collective/simulate.h"

namespace caravan::collective {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                               DataType::kFloat64, DataType::kInt32,    DataType::kInt64,
                               DataType::kInt8,    DataType::kUint8,    DataType::kInt16,
                               DataType::kUint16,  DataType::kUint32,   DataType::kUint64};
constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                                    ReduceOp::kAvg};

struct Shape {
  Operation op;
  Algorithm algorithm;
};

constexpr Shape kShapes[] = {
    {Operation::kAllReduce, Algorithm::kDirect},
    {Operation::kAllReduce, Algorithm::kRing},
    {Operation::kAllReduce, Algorithm::kRingForward},
    {Operation::kAllGather, Algorithm::kDirect},
    {Operation::kAllGather, Algorithm::kRingForward},
    {Operation::kReduceScatter, Algorithm::kDirect},
    {Operation::kReduceScatter, Algorithm::kRing},
    {Operation::kBroadcast, Algorithm::kDirect},
    {Operation::kBroadcast, Algorithm::kChainForward},
    {Operation::kBarrier, Algorithm::kDirect},
};

std::string ShapeName(const Shape& shape) {
  std::string name = absl::StrCat(Name(shape.op).data(), "_", Name(shape.algorithm).data());
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

uint64_t Sum(const std::vector<Counters>& all, uint64_t Counters::*field) {
  uint64_t sum = 0;
  for (const Counters& counters : all) sum += counters.*field;
  return sum;
}

// The table "what encryption costs", summed over ranks: m is the whole vector.
struct Totals {
  uint64_t sealed;
  uint64_t opened;
};

Totals TableTotals(const OperationSpec& spec, uint64_t ranks) {
  const uint64_t n = spec.bytes();
  switch (spec.op) {
    case Operation::kAllReduce:
      return {n * (spec.algorithm == Algorithm::kRing ? 2 * (ranks - 1) : ranks),
              2 * n * (ranks - 1)};
    case Operation::kAllGather:
      return {n * ranks, n * ranks * (ranks - 1)};
    case Operation::kReduceScatter:
      return {n * ranks * (ranks - 1), n * ranks * (ranks - 1)};
    case Operation::kBroadcast:
      return {n, n * (ranks - 1)};
    default:
      return {n, n};
  }
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
    slots = std::max(slots, plans[r]->forward_slots);
  }
  EXPECT_LE(result->peak_forward_slots, slots);
  if (ranks == 1) return;
  const Totals totals = TableTotals(spec, static_cast<uint64_t>(ranks));
  EXPECT_EQ(Sum(result->counters, &Counters::sealed), totals.sealed);
  EXPECT_EQ(Sum(result->counters, &Counters::opened), totals.opened);
  EXPECT_EQ(Sum(result->counters, &Counters::sent), Sum(result->counters, &Counters::received));
  if (spec.count > 0) {
    EXPECT_EQ(result->crypto_depth, plans[0]->crypto_depth);
  }
}

class EveryShape : public testing::TestWithParam<Shape> {
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

  // Blocks of about `bytes` a rank, whatever the operation counts.
  uint64_t CountFor(uint64_t block_bytes, DataType type, int ranks) const {
    const bool whole =
        GetParam().op == Operation::kAllReduce || GetParam().op == Operation::kBroadcast;
    return block_bytes * (whole ? ranks : 1) / SizeOf(type);
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
      Check(std::vector<OperationSpec>(p, spec), options);
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
        Check(std::vector<OperationSpec>(ranks, Spec(type, reduce, 337)), options);
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
        Check(std::vector<OperationSpec>(ranks, spec), options);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryShape, testing::ValuesIn(kShapes),
                         [](const auto& info) { return ShapeName(info.param); });

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
TEST(CryptoBytes, EqualTheTableOnEveryRank) {
  for (const int p : {2, 3, 4, 8, 17}) {
    for (const Shape& shape : kShapes) {
      if (shape.op == Operation::kBarrier) continue;
      OperationSpec spec;
      spec.op = shape.op;
      spec.algorithm = shape.algorithm;
      const bool blocks = spec.op == Operation::kAllGather || spec.op == Operation::kReduceScatter;
      spec.count = 100000 * (blocks ? 1 : p);
      const uint64_t m = spec.bytes() * (blocks ? p : 1);
      const uint64_t qm = m / p * (p - 1);
      for (int r = 0; r < p; ++r) {
        SCOPED_TRACE(absl::StrCat(ShapeName(shape), " rank ", r, " of ", p));
        const auto plan = BuildPlan(spec, r, p);
        ASSERT_TRUE(plan.ok()) << plan.status();
        const Counters& counters = (*plan)->counters;
        switch (spec.op) {
          case Operation::kAllReduce:
            EXPECT_EQ(counters.sealed, spec.algorithm == Algorithm::kRing ? 2 * qm : m);
            EXPECT_EQ(counters.opened, 2 * qm);
            break;
          case Operation::kAllGather:
            EXPECT_EQ(counters.sealed, m / p);
            EXPECT_EQ(counters.opened, qm);
            break;
          case Operation::kReduceScatter:
            EXPECT_EQ(counters.sealed, qm);
            EXPECT_EQ(counters.opened, qm);
            break;
          default:
            EXPECT_EQ(counters.sealed, r == 0 ? m : 0);
            EXPECT_EQ(counters.opened, r == 0 ? 0 : m);
        }
      }
    }
  }
}

}  // namespace
}  // namespace caravan::collective
