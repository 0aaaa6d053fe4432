// SPDX-License-Identifier: Apache-2.0
//
// All nodes' plans in the simulator: results as of as many ranks with a node each, crypto as of as
// many ranks as there are nodes.
#include "collective/islands/islands.h"

#include <gtest/gtest.h>

#include <cstring>
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

// Those that ranks of one node can take part in.
std::vector<ShapeForTest> IslandShapes() {
  std::vector<ShapeForTest> shapes;
  for (const ShapeForTest& shape : AllShapesForTest()) {
    OperationSpec spec;
    spec.op = shape.op;
    spec.algorithm = shape.algorithm;
    if (SelectFor(spec, {2, 2}, DefaultSelectorTable()).ok()) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<std::shared_ptr<const Plan>> PlansOf(const std::vector<OperationSpec>& views,
                                                 const Islands& islands) {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (int node = 0; node < islands.nodes; ++node) {
    const auto first = views.begin() + node * islands.local;
    auto plan = BuildIslandPlan({first, first + islands.local}, node, islands);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return {};
    plans.push_back(*std::move(plan));
  }
  return plans;
}

// Nodes add up before they exchange, so numbers are such that every order gives the same bits: 1 or
// 2 where they are fractions.
Bytes Numbers(DataType type, uint64_t bytes, uint64_t seed) {
  Bytes out = RandomNumbersForTest(type, bytes, seed);
  const size_t width = SizeOf(type);
  const std::string_view name = Name(type);
  if (name.front() != 'f' && name != "bf16") return out;
  const uint64_t one = type == DataType::kFloat16    ? 0x3C00
                       : type == DataType::kBfloat16 ? 0x3F80
                       : type == DataType::kFloat32  ? 0x3F800000
                                                     : 0x3FF0000000000000;
  const uint64_t two = uint64_t{1} << (8 * width - 2);
  for (size_t i = 0; i + width <= bytes; i += width) {
    const uint64_t value = out[i] % 2 == 0 ? one : two;
    std::memcpy(out.data() + i, &value, width);
  }
  return out;
}

void Check(const std::vector<OperationSpec>& views, const Islands& islands,
           const SimulationOptions& options) {
  const OperationSpec& spec = views.front();
  SCOPED_TRACE(absl::StrCat(spec.Describe(), " by ", Name(spec.algorithm).data(), " on ",
                            islands.nodes, " nodes of ", islands.local, " ranks, ", options.lanes,
                            " lanes of ", options.lane_capacity,
                            options.in_place ? ", in place" : "", ", seed ", options.seed));
  const auto plans = PlansOf(views, islands);
  ASSERT_EQ(plans.size(), static_cast<size_t>(islands.nodes));
  std::vector<Bytes> inputs;
  for (const auto& plan : plans) {
    for (int k = 0; k < islands.local; ++k) {
      inputs.push_back(
          Numbers(spec.dtype, plan->input_bytes(k), options.seed * 100 + inputs.size()));
    }
  }
  const auto result = Simulate(plans, inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<Bytes> expected = ExpectedOutputsForTest(views, inputs);
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_TRUE(result->outputs[rank] == expected[rank]) << "wrong result at rank " << rank;
  }
  for (size_t node = 0; node < plans.size(); ++node) {
    EXPECT_TRUE(result->counters[node] == plans[node]->counters) << "counters of node " << node;
  }
}

class EveryIslandShape : public testing::TestWithParam<ShapeForTest> {
 protected:
  OperationSpec Spec(uint64_t count) const {
    OperationSpec spec;
    spec.op = GetParam().op;
    spec.algorithm = GetParam().algorithm;
    spec.count = spec.op == Operation::kBarrier ? 0 : count;
    spec.chunk_log2 = 14;
    return spec;
  }
};

TEST_P(EveryIslandShape, IsRightForEveryNumberOfNodesAndRanks) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt8,    DataType::kBfloat16,
                                 DataType::kInt64,   DataType::kFloat16, DataType::kUint16};
  constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                      ReduceOp::kMax, ReduceOp::kAvg};
  std::mt19937_64 random(11);
  uint64_t seed = 1;
  for (int nodes = 1; nodes <= 4; ++nodes) {
    for (const int local : {2, 3, 5}) {
      const Islands islands{nodes, local};
      const uint64_t p = static_cast<uint64_t>(islands.ranks());
      // The last two: odd blocks around a chunk, and of a few chunks.
      for (const uint64_t count :
           {uint64_t{0}, uint64_t{1}, p, p + 1,
            CountForTest(GetParam().op, DataType::kInt64, islands.ranks(), 3000) + 3,
            CountForTest(GetParam().op, DataType::kInt32, islands.ranks(), 17000) + 1}) {
        OperationSpec spec = Spec(count);
        spec.dtype = kTypes[random() % std::size(kTypes)];
        spec.reduce = kReductions[random() % std::size(kReductions)];
        spec.root = static_cast<uint16_t>(random() % p);
        SimulationOptions options;
        options.lanes = 1 + static_cast<int>(random() % 3);
        options.lane_capacity = 1 + static_cast<uint32_t>(random() % 3);
        options.in_place = random() % 2 == 0;
        options.seed = seed++;
        Check(ViewsForTest(spec, islands.ranks(), seed), islands, options);
      }
    }
  }
}

// Long enough that slots, windows and scratch are used over and over, with lanes of one record.
TEST_P(EveryIslandShape, EndsWithFullLanesAndManyChunks) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Islands islands{2 + static_cast<int>(seed % 3), 2 + static_cast<int>(seed % 2)};
    OperationSpec spec =
        Spec(CountForTest(GetParam().op, DataType::kInt32, islands.ranks(), (5u << 14) + 36));
    spec.dtype = DataType::kInt32;
    spec.root = static_cast<uint16_t>(seed % islands.ranks());
    SimulationOptions options;
    options.lanes = 1 + static_cast<int>(seed % 2);
    options.in_place = seed % 3 == 0;
    options.seed = seed;
    Check(ViewsForTest(spec, islands.ranks(), seed), islands, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryIslandShape, testing::ValuesIn(IslandShapes()),
                         [](const auto& info) { return NameForTest(info.param); });

// The table's row, of a whole vector of m bytes: m/p sealed and (N − 1)/N · m/l opened a rank.
TEST(Islands, AllGatherSealsAndOpensWhatTheTableSays) {
  const Islands islands{4, 8};
  OperationSpec spec;
  spec.op = Operation::kAllGather;
  spec.algorithm = Algorithm::kRingForward;
  spec.count = 100000;
  const uint64_t m = spec.WholeBytes(islands.ranks());
  for (const auto& plan : PlansOf(std::vector<OperationSpec>(32, spec), islands)) {
    EXPECT_EQ(plan->counters.sealed, 8 * (m / 32));
    EXPECT_EQ(plan->counters.opened, 8 * (m / 8 * 3 / 4));
    EXPECT_EQ(plan->crypto_depth, 1u);
    EXPECT_EQ(plan->rounds, 3u);
  }
}

TEST(Islands, AnAllReduceCostsANodeWhatItCostsARank) {
  OperationSpec spec;
  spec.algorithm = Algorithm::kDirect;
  spec.count = 1 << 20;
  const auto plans = PlansOf(std::vector<OperationSpec>(12, spec), {3, 4});
  for (int node = 0; node < 3; ++node) {
    const auto alone = BuildPlan(spec, node, 3);
    ASSERT_TRUE(alone.ok());
    EXPECT_TRUE(plans[static_cast<size_t>(node)]->counters == (*alone)->counters);
  }
}

TEST(Islands, OneNodeSealsNothing) {
  for (const ShapeForTest& shape : IslandShapes()) {
    OperationSpec spec;
    spec.op = shape.op;
    spec.algorithm = shape.algorithm;
    spec.count = shape.op == Operation::kBarrier ? 0 : 4096;
    for (const auto& plan : PlansOf(ViewsForTest(spec, 4, 1), {1, 4})) {
      EXPECT_TRUE(plan->counters == Counters());
    }
  }
}

TEST(Islands, RefuseMessagesBetweenRanks) {
  OperationSpec spec;
  spec.op = Operation::kSend;
  spec.peer = 3;
  const auto selection = SelectFor(spec, {2, 2}, DefaultSelectorTable());
  EXPECT_EQ(selection.status().code(), absl::StatusCode::kUnimplemented);
}

TEST(Islands, RefuseViewsThatContradictEachOther) {
  OperationSpec spec;
  spec.algorithm = Algorithm::kDirect;
  spec.count = 10;
  OperationSpec other = spec;
  other.count = 11;
  const auto plan = BuildIslandPlan({spec, other}, 1, {2, 2});
  EXPECT_EQ(plan.status().message(),
            "rank 2 called allreduce(f32 × 10, sum), rank 3 called allreduce(f32 × 11, sum)");

  OperationSpec v = spec;
  v.op = Operation::kAllToAllV;
  v.count = 4;
  v.counts = {1, 1, 1, 1};
  v.receive_counts = {1, 1, 1, 1};
  OperationSpec w = v;
  w.counts = {1, 1, 2, 1};
  w.count = 5;
  EXPECT_EQ(BuildIslandPlan({v, w}, 1, {2, 2}).status().message(),
            "rank 3 sends 2 elements to rank 2, which receives 1");
}

}  // namespace
}  // namespace caravan::collective
