// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/program.h"

#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using collective::Algorithm;
using collective::Operation;
using collective::OperationSpec;
using collective::Step;
using collective::StepKind;

constexpr int kNodes = 4;
constexpr int kLanes = 2;

OperationSpec SpecOf(Operation op, Algorithm algorithm, uint64_t count = 40000) {
  OperationSpec spec;
  spec.op = op;
  spec.algorithm = algorithm;
  spec.count = count;
  spec.chunk_log2 = 14;
  return spec;
}

std::shared_ptr<const Program> Build(const OperationSpec& spec, int node) {
  auto program = Program::Build({spec}, node, {kNodes, 1}, kLanes);
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

std::vector<OperationSpec> Specs() {
  return {SpecOf(Operation::kAllReduce, Algorithm::kDirect),
          SpecOf(Operation::kAllReduce, Algorithm::kRing),
          SpecOf(Operation::kAllReduce, Algorithm::kRingForward),
          SpecOf(Operation::kBroadcast, Algorithm::kDirect),
          SpecOf(Operation::kBroadcast, Algorithm::kChainForward),
          SpecOf(Operation::kAllToAll, Algorithm::kBruckForward)};
}

TEST(Program, ListsEverySendOfALaneInTheOrderOfSteps) {
  for (const OperationSpec& spec : Specs()) {
    for (int node = 0; node < kNodes; ++node) {
      const auto program = Build(spec, node);
      std::set<std::pair<uint32_t, uint32_t>> listed;  // lane, step
      for (uint32_t lane = 0; lane < program->lanes().size(); ++lane) {
        const LaneList& list = program->lanes()[lane];
        EXPECT_GE(list.words * 64, list.items);
        for (uint32_t item = 0; item < list.items; ++item) {
          const uint32_t step = program->StepOfItem(lane, item);
          if (item > 0) {
            EXPECT_GT(step, program->StepOfItem(lane, item - 1));
          }
          listed.insert({lane, step});
        }
      }
      std::set<std::pair<uint32_t, uint32_t>> planned;
      const std::vector<Step>& steps = program->plan().steps;
      for (uint32_t i = 0; i < steps.size(); ++i) {
        if (steps[i].kind == StepKind::kLocal) planned.insert({program->local_lane(), i});
        for (uint32_t t = 0; t < steps[i].target_count; ++t) {
          const uint32_t target = program->plan().targets[steps[i].first_target + t];
          planned.insert({target * kLanes + steps[i].chunk % kLanes, i});
        }
      }
      EXPECT_EQ(listed, planned) << spec.Describe() << " node " << node;
    }
  }
}

TEST(Program, CountsOnALaneWhatItsPeerSends) {
  for (const OperationSpec& spec : Specs()) {
    for (int node = 0; node < kNodes; ++node) {
      const auto here = Build(spec, node);
      for (int peer = 0; peer < kNodes; ++peer) {
        if (peer == node) continue;
        const auto there = Build(spec, peer);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          EXPECT_EQ(here->lanes()[peer * kLanes + lane].receives,
                    there->lanes()[node * kLanes + lane].items)
              << spec.Describe() << " from node " << peer << " to node " << node;
        }
      }
    }
  }
}

TEST(Program, UsesEachKeyForAsManyRecordsAsItPlans) {
  for (const OperationSpec& spec : Specs()) {
    const auto program = Build(spec, 1);
    std::vector<uint32_t> uses(program->keys().size());
    const std::vector<Step>& steps = program->plan().steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      const bool keyed = steps[i].kind == StepKind::kSeal || steps[i].kind == StepKind::kOpen;
      const uint32_t key = program->info(i).key;
      EXPECT_EQ(key != kNone, keyed);
      if (!keyed) continue;
      ++uses[key];
      EXPECT_EQ(program->keys()[key].seal, steps[i].kind == StepKind::kSeal);
      EXPECT_EQ(program->keys()[key].source, steps[i].source);
      EXPECT_EQ(program->keys()[key].destination, steps[i].destination);
    }
    for (size_t k = 0; k < uses.size(); ++k) EXPECT_EQ(program->keys()[k].uses, uses[k]);
  }
}

TEST(Program, NumbersWhatIsSharedAndWhatIsForwarded) {
  for (const OperationSpec& spec : Specs()) {
    const auto program = Build(spec, 1);
    uint32_t shared = 0;
    uint32_t forwards = 0;
    const std::vector<Step>& steps = program->plan().steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      const bool several = steps[i].kind == StepKind::kSeal && steps[i].target_count > 1;
      EXPECT_EQ(program->info(i).shared, several ? shared++ : kNone);
      EXPECT_EQ(program->info(i).forward, collective::Plan::SendsOn(steps[i]) ? forwards++ : kNone);
    }
    EXPECT_EQ(program->shared_steps(), shared);
    EXPECT_EQ(program->forward_steps(), forwards);
  }
}

TEST(Program, KnowsWhichRecordComesBeforeOnItsStream) {
  const auto program = Build(SpecOf(Operation::kBroadcast, Algorithm::kChainForward), 1);
  const std::vector<Step>& steps = program->plan().steps;
  bool any = false;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const uint32_t previous = program->info(i).previous;
    if (previous == kNone) continue;
    any = true;
    EXPECT_EQ(steps[previous].source, steps[i].source);
    EXPECT_EQ(steps[previous].chunk + kLanes, steps[i].chunk) << "the same lane's last";
  }
  EXPECT_TRUE(any);
}

TEST(Program, LastChunkAndChunkCountGoIntoHeaders) {
  const auto program = Build(SpecOf(Operation::kBroadcast, Algorithm::kDirect), 0);
  const std::vector<Step>& steps = program->plan().steps;
  int last = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != StepKind::kSeal) continue;
    const StepInfo& info = program->info(i);
    EXPECT_EQ(info.last, steps[i].chunk + 1 == info.chunk_count);
    last += info.last ? 1 : 0;
  }
  EXPECT_EQ(last, 1);
}

TEST(ProgramCache, GivesTheSameProgramForTheSameSpecification) {
  ProgramCache cache(0, {kNodes, 1}, kLanes);
  const OperationSpec spec = SpecOf(Operation::kAllReduce, Algorithm::kRing);
  const auto first = cache.Get({spec});
  ASSERT_TRUE(first.ok());
  const auto other = cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kDirect)});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(first->get(), other->get());
  EXPECT_NE((*first)->digest(), (*other)->digest());
  EXPECT_EQ(cache.Get({spec})->get(), first->get());
}

TEST(ProgramCache, DropsWhatWasNotUsedForLongest) {
  ProgramCache cache(0, {kNodes, 1}, kLanes);
  const auto kept = cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kRing, 1)});
  const auto dropped = cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kRing, 2)});
  for (uint64_t count = 3; count <= 33; ++count) {
    ASSERT_TRUE(cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kRing, 1)}).ok());
    ASSERT_TRUE(cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kRing, count)}).ok());
  }
  EXPECT_EQ(cache.Get({SpecOf(Operation::kAllReduce, Algorithm::kRing, 1)})->get(), kept->get());
  EXPECT_EQ(dropped->use_count(), 1) << "held by this test alone";
}

TEST(ProgramCache, SaysWhyThereIsNoPlan) {
  ProgramCache cache(0, {kNodes, 1}, kLanes);
  OperationSpec spec = SpecOf(Operation::kBroadcast, Algorithm::kRing);
  spec.root = kNodes;
  EXPECT_FALSE(cache.Get({spec}).ok());
}

}  // namespace
}  // namespace caravan::engine
