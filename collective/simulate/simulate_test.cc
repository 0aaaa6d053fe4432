// SPDX-License-Identifier: Apache-2.0
//
// The simulator must notice plans that are wrong: each test here spoils one.
#include "collective/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan_builder.h"
#include "collective/simulate/reference.h"

namespace caravan::collective {
namespace {

using testing::HasSubstr;

class Simulation : public testing::Test {
 protected:
  static OperationSpec Spec(Operation op, Algorithm algorithm, uint64_t count) {
    OperationSpec spec;
    spec.op = op;
    spec.algorithm = algorithm;
    spec.count = count;
    spec.chunk_log2 = 14;
    return spec;
  }

  void Add(const OperationSpec& spec, int size) {
    plans_.push_back(*BuildPlan(spec, static_cast<int>(plans_.size()), size));
  }

  // Replaces a rank's plan by a spoilt copy.
  template <typename Change>
  void Spoil(int rank, Change change) {
    auto copy = std::make_shared<Plan>(*plans_[rank]);
    change(*copy);
    plans_[rank] = std::move(copy);
  }

  absl::StatusOr<SimulationResult> Run(const SimulationOptions& options = {}) {
    std::vector<std::vector<uint8_t>> inputs;
    for (const auto& plan : plans_) {
      inputs.push_back(RandomNumbersForTest(plan->spec.dtype, plan->input_bytes(), 1));
    }
    return Simulate(plans_, inputs, options);
  }

  void ExpectInternal(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  std::vector<std::shared_ptr<const Plan>> plans_;
};

TEST_F(Simulation, NamesWhereEachRankWaitsWhenNoneCanMove) {
  Add(Spec(Operation::kAllReduce, Algorithm::kDirect, 100), 3);
  Add(Spec(Operation::kAllReduce, Algorithm::kDirect, 100), 3);
  Add(Spec(Operation::kAllReduce, Algorithm::kDirect, 100), 3);
  Spoil(2, [](Plan& plan) {
    for (Step& step : plan.steps) step.dependencies += step.kind == StepKind::kSeal;
  });
  const absl::Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 2: step 0 (seal source 2, phase 0, chunk 0, after 1 more steps)"));
}

// The bound on injection is what keeps rings with few slots alive: without it they lock up.
TEST_F(Simulation, FindsTheDeadlockOfAnUnboundedRing) {
  const OperationSpec spec = Spec(Operation::kAllGather, Algorithm::kRingForward, 20 * 4096);
  int stuck = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    plans_.clear();
    for (int rank = 0; rank < 4; ++rank) {
      Add(spec, 4);
      Spoil(rank, [](Plan& plan) {
        plan.class_slots = 1;
        for (Step& step : plan.steps) {
          if (step.kind == StepKind::kSeal) step.dependencies = 0;
          step.dependent_count = 0;
        }
      });
    }
    const auto result = Run({.lanes = 1, .lane_capacity = 1, .seed = seed});
    if (result.status().code() == absl::StatusCode::kDeadlineExceeded) ++stuck;
  }
  EXPECT_GT(stuck, 0);
}

TEST_F(Simulation, RefusesRanksThatDisagreeAboutTheCount) {
  Add(Spec(Operation::kAllGather, Algorithm::kDirect, 100), 2);
  Add(Spec(Operation::kAllGather, Algorithm::kDirect, 101), 2);
  ExpectInternal(Run().status(), "is a duplicate or contradicts step");
}

TEST_F(Simulation, RefusesARecordThatNoStepExpects) {
  Add(Spec(Operation::kAllGather, Algorithm::kDirect, 100), 2);
  Add(Spec(Operation::kAllReduce, Algorithm::kDirect, 100), 2);
  ExpectInternal(Run().status(), "belongs to");
}

TEST_F(Simulation, RefusesADuplicate) {
  Add(Spec(Operation::kBroadcast, Algorithm::kDirect, 3 * 4096), 2);
  Add(Spec(Operation::kBroadcast, Algorithm::kDirect, 3 * 4096), 2);
  Spoil(0, [](Plan& plan) {
    for (Step& step : plan.steps) {
      if (step.kind == StepKind::kSeal && step.chunk == 1) step.chunk = 0;
    }
  });
  ExpectInternal(Run().status(), "chunk 0 from rank 0 is a duplicate");
}

TEST_F(Simulation, RefusesARecordFromTheWrongNeighbour) {
  for (int rank = 0; rank < 3; ++rank) {
    Add(Spec(Operation::kBroadcast, Algorithm::kDirect, 100), 3);
  }
  Spoil(2, [](Plan& plan) { plan.steps[0].via = 1; });
  ExpectInternal(Run().status(), "from rank 0 is a duplicate or contradicts");
}

TEST_F(Simulation, SeesAResultThatDependsOnMissingOrder) {
  const OperationSpec spec = Spec(Operation::kAllReduce, Algorithm::kDirect, 9 * 4096 * 3);
  bool wrong = false;
  for (uint64_t seed = 0; seed < 20 && !wrong; ++seed) {
    plans_.clear();
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < 3; ++rank) {
      Add(spec, 3);
      // Reductions of a chunk lose their order, and the all-gather no longer waits for them.
      Spoil(rank, [](Plan& plan) {
        for (Step& step : plan.steps) step.dependencies = step.dependent_count = 0;
      });
      inputs.push_back(RandomNumbersForTest(spec.dtype, plans_.back()->input_bytes(), seed + rank));
    }
    const auto result = Simulate(plans_, inputs, {.lane_capacity = 3, .seed = seed});
    ASSERT_TRUE(result.ok()) << result.status();
    wrong = result->outputs != ExpectedOutputsForTest({spec, spec, spec}, inputs);
  }
  EXPECT_TRUE(wrong);
}

TEST_F(Simulation, RefusesInputsThatDoNotFit) {
  Add(Spec(Operation::kAllGather, Algorithm::kDirect, 100), 1);
  EXPECT_EQ(Simulate(plans_, {{1, 2, 3}}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Simulate(plans_, {}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run({.lanes = 0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run({.lane_capacity = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace caravan::collective
