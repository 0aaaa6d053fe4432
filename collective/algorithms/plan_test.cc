// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/answerable.h"
#include "collective/algorithms/build_plan.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan_builder.h"
#include "collective/simulate/shapes_for_test.h"

namespace caravan::collective {
namespace {

using testing::HasSubstr;

OperationSpec Spec(Operation op, Algorithm algorithm, uint64_t count) {
  OperationSpec spec;
  spec.op = op;
  spec.algorithm = algorithm;
  spec.count = count;
  spec.chunk_log2 = 14;
  return spec;
}

// A stretch of one rank's memory that a step reads or writes.
struct Access {
  uint32_t step;
  bool writes;
  uint64_t begin;
  uint64_t end;
};

// Where regions lie when input and output share memory as NCCL has it, or lie apart.
class Memory {
 public:
  Memory(const Plan& plan, bool in_place) : plan_(plan) {
    const InPlace shared = plan.spec.InPlaceOffsets(plan.rank);
    output_ = in_place ? shared.output : kApart;
    if (in_place) input_ = shared.input;
  }

  uint64_t At(const Region& region) const {
    if (region.place == Place::kScratch) return 2 * kApart + region.offset;
    return (region.place == Place::kInput ? input_ : output_) + region.offset;
  }

  std::vector<Access> Accesses() const {
    std::vector<Access> all;
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      const bool local = step.kind == StepKind::kLocal;
      const bool copies = local && (step.reduce || At(step.read) != At(step.write));
      if (step.kind == StepKind::kSeal || step.reduce || copies) Add(all, i, false, step.read);
      if (step.kind == StepKind::kOpen || copies) Add(all, i, true, step.write);
    }
    return all;
  }

 private:
  static constexpr uint64_t kApart = uint64_t{1} << 50;

  void Add(std::vector<Access>& all, uint32_t step, bool writes, const Region& region) const {
    all.push_back({step, writes, At(region), At(region) + plan_.steps[step].bytes});
  }

  const Plan& plan_;
  uint64_t input_ = 0;
  uint64_t output_ = 0;
};

// before[b][a]: a path of dependencies leads from step a to step b.
std::vector<std::vector<bool>> Ancestors(const Plan& plan) {
  std::vector<std::vector<bool>> before(plan.steps.size(),
                                        std::vector<bool>(plan.steps.size(), false));
  for (uint32_t a = 0; a < plan.steps.size(); ++a) {
    for (uint32_t i = 0; i < plan.steps[a].dependent_count; ++i) {
      const uint32_t b = plan.dependents[plan.steps[a].first_dependent + i];
      EXPECT_GT(b, a) << "dependencies must point forward";
      before[b][a] = true;
      for (uint32_t c = 0; c < a; ++c) {
        if (before[a][c]) before[b][c] = true;
      }
    }
  }
  return before;
}

class EveryPlan : public testing::TestWithParam<ShapeForTest> {
 protected:
  // Each rank's plan of blocks of `chunks` chunks and a little more.
  static std::vector<std::shared_ptr<const Plan>> Plans(uint64_t count, int size) {
    OperationSpec spec = Spec(GetParam().op, GetParam().algorithm, count);
    if (spec.op == Operation::kBarrier) spec.count = 0;
    std::vector<std::shared_ptr<const Plan>> plans;
    for (const OperationSpec& view : ViewsForTest(spec, size, count)) {
      auto plan = BuildPlan(view, static_cast<int>(plans.size()), size);
      EXPECT_TRUE(plan.ok()) << plan.status();
      plans.push_back(*std::move(plan));
    }
    return plans;
  }
};

// Whatever peers send and when: two steps that touch the same bytes, one of them writing, are in
// an order that this rank's own plan fixes.
TEST_P(EveryPlan, OrdersAllConflictingAccesses) {
  for (const int size : {1, 2, 3, 5}) {
    for (const uint64_t chunks : {0, 1, 7}) {
      const uint64_t count =
          CountForTest(GetParam().op, DataType::kFloat32, size, chunks << 14) + chunks;
      for (const std::shared_ptr<const Plan>& plan : Plans(count, size)) {
        const int rank = plan->rank;
        const auto before = Ancestors(*plan);
        for (const bool in_place : {false, true}) {
          if (in_place && !plan->spec.InPlaceOffsets(rank).allowed) continue;
          const std::vector<Access> accesses = Memory(*plan, in_place).Accesses();
          for (const Access& a : accesses) {
            for (const Access& b : accesses) {
              if (a.step >= b.step || !(a.writes || b.writes)) continue;
              if (a.end <= b.begin || b.end <= a.begin) continue;
              EXPECT_TRUE(before[b.step][a.step])
                  << "steps " << a.step << " and " << b.step << " of rank " << rank << " of "
                  << size << (in_place ? " in place" : "");
            }
          }
        }
      }
    }
  }
}

TEST_P(EveryPlan, StaysWithinItsBuffers) {
  for (const int size : {2, 5}) {
    for (const uint64_t count : {1, 7, 30011}) {
      for (const std::shared_ptr<const Plan>& plan : Plans(count, size)) {
        const auto within = [&](const Region& region, uint32_t bytes) {
          const uint64_t limit = region.place == Place::kInput    ? plan->input_bytes()
                                 : region.place == Place::kOutput ? plan->output_bytes()
                                                                  : plan->scratch_bytes;
          return region.offset + bytes <= limit;
        };
        for (const Step& step : plan->steps) {
          const bool opens = step.kind == StepKind::kOpen;
          if (step.kind == StepKind::kSeal || step.kind == StepKind::kLocal || step.reduce) {
            EXPECT_TRUE(within(step.read, step.bytes));
          }
          if (opens || step.kind == StepKind::kLocal) {
            EXPECT_TRUE(within(step.write, step.bytes));
            EXPECT_NE(step.write.place, Place::kInput);
          }
        }
      }
    }
  }
}

TEST_P(EveryPlan, FindsEveryRecordToComeAndNothingElse) {
  const std::shared_ptr<const Plan> plan = Plans(20000, 5)[1];
  for (uint32_t i = 0; i < plan->steps.size(); ++i) {
    const Step& s = plan->steps[i];
    if (s.kind == StepKind::kLocal) continue;
    const auto found = plan->FindReceive(s.phase, s.source, s.destination, s.chunk);
    EXPECT_EQ(found.ok(), s.kind != StepKind::kSeal);
    if (found.ok()) {
      EXPECT_EQ(*found, i);
    }
    const Stream& stream = plan->StreamOf(s);
    EXPECT_LE(s.chunk, stream.last_chunk);
    EXPECT_LT(stream.last_chunk, stream.chunk_count);
    EXPECT_FALSE(plan->FindReceive(s.phase, s.source, s.destination, stream.chunk_count).ok());
    EXPECT_FALSE(plan->FindReceive(s.phase, s.source, s.destination, UINT32_MAX).ok());
    EXPECT_FALSE(plan->FindReceive(s.phase + 7, s.source, s.destination, s.chunk).ok());
  }
  const auto missing = plan->FindReceive(9, 2, 1, 3);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("source 2, destination 1, phase 9, chunk 3"));
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryPlan, testing::ValuesIn(AllShapesForTest()),
                         [](const auto& info) { return NameForTest(info.param); });

// What keeps rings with bounded slots and scratch alive (ring.cc, ring_forward.cc): a rank's first
// seal of chunk c waits for chunk c − 2 of everything that comes through here.
TEST(Ring, HoldsItsOwnChunksBackUntilTheOthersHavePassed) {
  for (const auto& [op, algorithm, phase] :
       {std::tuple{Operation::kAllGather, Algorithm::kRingForward, 0},
        {Operation::kAllReduce, Algorithm::kRingForward, 1},
        {Operation::kReduceScatter, Algorithm::kRing, 0}}) {
    const int size = 4;
    const uint32_t chunks = 9;
    const uint64_t count = chunks * 4096 * (op == Operation::kAllReduce ? size : 1);
    const std::shared_ptr<const Plan> built = *BuildPlan(Spec(op, algorithm, count), 0, size);
    const Plan& plan = *built;
    const auto before = Ancestors(plan);
    // In a reduce-scatter rank 0 starts block 3, and chunks are numbered through all blocks.
    const uint32_t first = op == Operation::kReduceScatter ? 3 * chunks : 0;
    int held = 0;
    for (uint32_t seal = 0; seal < plan.steps.size(); ++seal) {
      const Step& s = plan.steps[seal];
      if (s.kind != StepKind::kSeal || s.phase != phase || s.chunk < first + 2) continue;
      for (uint32_t open = 0; open < plan.steps.size(); ++open) {
        const Step& o = plan.steps[open];
        if (o.kind != StepKind::kOpen || o.phase != phase) continue;
        if (o.chunk % chunks != s.chunk % chunks - 2) continue;
        EXPECT_TRUE(before[seal][open]) << "seal " << s.chunk << ", open " << o.chunk;
        ++held;
      }
    }
    EXPECT_EQ(held, 3 * (static_cast<int>(chunks) - 2));
  }
}

TEST(BuildPlan, RefusesAlgorithmsThatDoNotFitAtEverySize) {
  for (int op = 1; op <= 13; ++op) {
    for (int algorithm = 1; algorithm <= 8; ++algorithm) {
      const auto known = AlgorithmsFor(static_cast<Operation>(op));
      const bool fits =
          std::find(known.begin(), known.end(), static_cast<Algorithm>(algorithm)) != known.end();
      for (const int size : {1, 2}) {
        OperationSpec spec =
            Spec(static_cast<Operation>(op), static_cast<Algorithm>(algorithm), op == 7 ? 0 : 5);
        if (size == 1 && (op == 5 || op == 6)) continue;  // one rank has no peer
        spec.peer = 1;
        const auto plan = BuildPlan(ViewsForTest(spec, size, 1).front(), 0, size);
        EXPECT_EQ(plan.status().code(),
                  fits ? absl::StatusCode::kOk : absl::StatusCode::kUnimplemented)
            << spec.Describe();
      }
    }
  }
}

TEST(BuildPlan, RefusesUnresolvedAndOversizedOperations) {
  EXPECT_EQ(BuildPlan(Spec(Operation::kAllReduce, Algorithm::kAuto, 1), 0, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto huge =
      BuildPlan(Spec(Operation::kAllReduce, Algorithm::kDirect, uint64_t{1} << 40), 0, 2);
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("split the operation"));
  // 64 MiB are no matter, unless one rank opens as much from each of 65,534.
  for (const auto& [op, algorithm, fits] : {std::tuple{Operation::kReduce, Algorithm::kRing, true},
                                            {Operation::kReduce, Algorithm::kDirect, false},
                                            {Operation::kAllReduce, Algorithm::kOneShot, false}}) {
    EXPECT_EQ(BuildPlan(Spec(op, algorithm, 16 << 20), 7, 65534).ok(), fits) << Name(algorithm);
  }
}

TEST(BuildPlan, ServesThousandsOfRanks) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRingForward}) {
    const auto plan = BuildPlan(Spec(Operation::kAllReduce, algorithm, 100000), 17, 4096);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ((*plan)->counters.sealed, 400000u);
    EXPECT_LT((*plan)->steps.size(), 20000u);
  }
}

TEST(PlanBuilder, RefusesARepeatedRecord) {
  PlanBuilder builder(Spec(Operation::kBroadcast, Algorithm::kDirect, 1), 0, 2);
  const uint16_t target = 1;
  const RecordName record = {0, kEveryRank, 0, 3, 5, 100};
  builder.Seal(record, {}, {&target, 1});
  builder.Seal(record, {}, {&target, 1});
  const auto plan = builder.Finish();
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("repeats a record and with it a nonce: source 0, destination 65535"));
}

TEST(PlanBuilder, RefusesStepsThatContradictTheirPlan) {
  const OperationSpec spec = Spec(Operation::kBroadcast, Algorithm::kDirect, 1);
  const uint16_t target = 1;
  PlanBuilder longer(spec, 0, 2);
  longer.Seal({0, 1, 0, 0, 1, (1 << 14) + 1}, {}, {&target, 1});
  EXPECT_THAT(std::string(longer.Finish().status().message()), HasSubstr("longer than a chunk"));

  PlanBuilder beyond(spec, 0, 2);
  beyond.Seal({0, 1, 0, 5, 5, 1}, {}, {&target, 1});
  EXPECT_THAT(std::string(beyond.Finish().status().message()), HasSubstr("contradicts its stream"));

  PlanBuilder circle(spec, 0, 2);
  const uint32_t first = circle.Seal({0, 1, 0, 0, 2, 1}, {}, {&target, 1});
  const uint32_t second = circle.Seal({0, 1, 0, 1, 2, 1}, {}, {&target, 1});
  circle.After(first, second);
  EXPECT_THAT(std::string(circle.Finish().status().message()), HasSubstr("listed later"));
}

TEST(PlanBuilder, RefusesRecordsThatGoNowhereOrAreHeldNowhere) {
  const OperationSpec spec = Spec(Operation::kAllToAll, Algorithm::kBruckForward, 1);
  const RecordName record = {1, 3, 0, 0, 1, 1};
  const uint16_t own = 2, next = 3, beyond = 4;
  const auto refusal = [&](uint16_t via, absl::Span<const uint16_t> targets, int slot_class,
                           uint32_t classes) {
    PlanBuilder builder(spec, own, 4);
    builder.SetForwardSlots(1, classes);
    builder.Relay(record, via, targets, slot_class);
    const auto plan = builder.Finish();
    return plan.ok() ? std::string() : std::string(plan.status().message());
  };
  EXPECT_EQ(refusal(1, {&next, 1}, 1, 2), "");
  EXPECT_THAT(refusal(1, {&next, 1}, 2, 2), HasSubstr("without a slot: source 1, destination 3"));
  EXPECT_THAT(refusal(1, {}, 1, 2), HasSubstr("sends to nobody"));
  EXPECT_THAT(refusal(1, {&own, 1}, 1, 2), HasSubstr("sends to no other rank"));
  EXPECT_THAT(refusal(1, {&beyond, 1}, 1, 2), HasSubstr("sends to no other rank"));
  EXPECT_THAT(refusal(2, {&next, 1}, 1, 2), HasSubstr("receives from no other rank"));
  PlanBuilder slotless(spec, own, 4);
  slotless.Relay(record, 1, {&next, 1}, 0);
  EXPECT_THAT(std::string(slotless.Finish().status().message()), HasSubstr("without a slot"));
}

// What keeps Bruck and recursive doubling alive with few slots: a record waits only for lanes of
// rounds after its own, and a lane carries records of one round.
TEST(Doubling, HoldsEachRoundsRecordsInSlotsOfTheirOwn) {
  for (const auto& [op, algorithm] : {std::pair{Operation::kAllGather, Algorithm::kDoublingForward},
                                      {Operation::kAllGatherV, Algorithm::kDoublingForward},
                                      {Operation::kAllToAll, Algorithm::kBruckForward}}) {
    for (const int size : {3, 8, 13, 17}) {
      const OperationSpec spec = ViewsForTest(Spec(op, algorithm, 9 * 4096), size, 1)[2];
      const auto plan = BuildPlan(spec, 2, size);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const auto round = [&](int from, int to) {
        const unsigned distance = static_cast<unsigned>((to - from + size) % size);
        EXPECT_TRUE(std::has_single_bit(distance));
        return std::countr_zero(distance);
      };
      for (const Step& step : (*plan)->steps) {
        if (!Plan::SendsOn(step)) continue;
        EXPECT_EQ(step.slot_class, round(step.via, 2));
        for (uint32_t t = 0; t < step.target_count; ++t) {
          EXPECT_GT(round(2, (*plan)->targets[step.first_target + t]), step.slot_class);
        }
      }
    }
  }
}

TEST(Explain, NamesAlgorithmRoundsAndBytes) {
  const auto plan = BuildPlan(Spec(Operation::kAllGather, Algorithm::kRingForward, 4096), 0, 4);
  const std::string text = (*plan)->Explain();
  EXPECT_THAT(text, HasSubstr("allgather(f32 × 4096) on rank 0 of 4 by ring-forward"));
  EXPECT_THAT(text, HasSubstr("rounds 3, crypto depth 1"));
  EXPECT_THAT(text, HasSubstr("sealed           16384 bytes in 1 records"));
  EXPECT_THAT(text, HasSubstr("forwarded        32768 bytes"));
}

TEST(AnswerableFor, NamesWhoHadTheRecordSinceItWasLastJudged) {
  OperationSpec spec;
  spec.op = Operation::kAllToAll;
  spec.count = 10;
  spec.algorithm = Algorithm::kBruckForward;
  for (int size = 2; size <= 9; ++size) {
    std::vector<std::shared_ptr<const Plan>> plans;
    for (int rank = 0; rank < size; ++rank) plans.push_back(*BuildPlan(spec, rank, size));
    auto sends = [&](uint16_t from, uint16_t to, const Step& record) {
      return std::any_of(plans[from]->steps.begin(), plans[from]->steps.end(), [&](const Step& s) {
        const uint16_t* targets = plans[from]->targets.data() + s.first_target;
        return s.source == record.source && s.destination == record.destination &&
               s.chunk == record.chunk &&
               std::find(targets, targets + s.target_count, to) != targets + s.target_count;
      });
    };
    for (const auto& plan : plans) {
      for (const Step& step : plan->steps) {
        if (step.kind != StepKind::kOpen && step.kind != StepKind::kRelay) continue;
        std::vector<uint16_t> ranks = AnswerableFor(*plan, step);
        EXPECT_EQ(ranks.front(), step.source);
        EXPECT_EQ(ranks.back(), step.via);
        ranks.push_back(static_cast<uint16_t>(plan->rank));
        for (size_t i = 0; i + 1 < ranks.size(); ++i) {
          EXPECT_TRUE(sends(ranks[i], ranks[i + 1], step)) << size << " ranks";
        }
      }
    }
  }
  // Who opens what it hands on has judged it.
  spec.op = Operation::kAllGather;
  spec.algorithm = Algorithm::kRingForward;
  const auto plan = *BuildPlan(spec, 0, 4);
  for (const Step& step : plan->steps) {
    if (step.kind != StepKind::kOpen) continue;
    EXPECT_EQ(AnswerableFor(*plan, step), std::vector<uint16_t>{3});
  }
}

}  // namespace
}  // namespace caravan::collective
