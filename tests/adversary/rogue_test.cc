// SPDX-License-Identifier: Apache-2.0
//
// A member that has gone bad, among honest engines: whatever it does, the first of them to meet it
// names it and why, and all of them end cleanly.
#include "tests/adversary/rogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan.h"
#include "collective/simulate/shapes_for_test.h"
#include "daemon/engine/operations_testing.h"

namespace caravan::adversary {
namespace {

using collective::Algorithm;
using collective::OperationSpec;
using collective::ShapeForTest;
using engine::Fault;
using engine::OperationForTest;
using Op = collective::Operation;
using ::testing::HasSubstr;

constexpr int kOperations = 3;

// Honest engines, and the rogue as one rank of `size`.
class Party {
 public:
  Party(int size, int rogue, Bugs bugs, absl::Duration deadline = absl::Seconds(20))
      : rogue_rank_(rogue), engines_(engine::StartEnginesForTest(size - 1)) {
    static std::atomic<uint8_t> epochs{0};
    engine::CommunicatorOptionsForTest options;
    options.epoch = ++epochs;
    options.chunk_log2 = Rogue::kChunkLog2;
    options.deadline = deadline;
    rogue_ = std::make_unique<Rogue>(rogue, size, options.epoch, std::move(bugs));
    options.connect = [&](int a, int b, int) -> std::pair<int, int> {
      if (a == rogue) return {-1, rogue_->Meet(b)};
      if (b == rogue) return {rogue_->Meet(a), -1};
      return engine::ConnectedPairForTest(false, 0);
    };
    std::vector<engine::Engine*> engines = engine::PointersForTest(engines_);
    engines.insert(engines.begin() + rogue, nullptr);
    comm_ = std::make_unique<engine::CommunicatorForTest>(engines, options);
  }
  ~Party() {
    comm_.reset();
    rogue_.reset();
  }

  // Submits `operations` times what `shape` says, of some chunks a block.
  void Submit(const ShapeForTest& shape, int operations = kOperations) {
    OperationSpec spec;
    spec.op = shape.op;
    spec.algorithm = shape.algorithm;
    spec.root = 1;
    spec.count = collective::CountForTest(shape.op, spec.dtype, comm_->size(), kBlock);
    std::vector<OperationSpec> specs;
    std::vector<Bytes> inputs;
    for (int i = 0; i < operations; ++i) {
      runs_.push_back(engine::SubmitForTest(*comm_, spec, static_cast<uint64_t>(i) + 1));
      specs.push_back(runs_.back().specs[rogue_rank_]);
      inputs.push_back(runs_.back().inputs[rogue_rank_]);
    }
    rogue_->Start(std::move(specs), std::move(inputs));
  }

  // The first fault of any engine ends the communicator for all, as the daemons' arbiter does.
  Fault FirstFault() {
    std::optional<Fault> fault;
    for (absl::Time end = absl::Now() + absl::Seconds(20); !fault && absl::Now() < end;) {
      for (int rank = 0; rank < comm_->size() && !fault; ++rank) {
        if (comm_->has_engine(rank)) fault = comm_->WaitFault(rank, absl::Milliseconds(2));
      }
    }
    EXPECT_TRUE(fault.has_value()) << "nobody noticed";
    return fault.value_or(Fault());
  }
  // All honest ranks end with it; what they completed before is right.
  void ExpectTheSameEnd(const Fault& fault) {
    const absl::Status reason(fault.code, fault.message);
    comm_->FailAll(reason);
    for (const OperationForTest& run : runs_) {
      for (int rank = 0; rank < comm_->size(); ++rank) {
        if (!comm_->has_engine(rank)) continue;
        const absl::Status end = comm_->ring(rank).Wait(run.ids[rank]);
        if (!end.ok()) {
          EXPECT_EQ(end, reason) << "rank " << rank;
        } else if (!run.expected[rank].empty()) {
          EXPECT_TRUE(std::equal(run.expected[rank].begin(), run.expected[rank].end(),
                                 run.outputs[rank].data))
              << run.what << ", rank " << rank;
        }
      }
    }
  }
  void ExpectRight() {
    for (const OperationForTest& run : runs_) engine::CheckForTest(*comm_, run);
    engine::CheckCountersForTest(*comm_);
    const std::vector<Bytes> outputs = rogue_->Finish();
    ASSERT_EQ(outputs.size(), runs_.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i], runs_[i].expected[rogue_rank_]) << runs_[i].what;
    }
  }
  uint64_t tag_failures() {
    uint64_t sum = 0;
    for (int rank = 0; rank < comm_->size(); ++rank) {
      if (comm_->has_engine(rank)) sum += comm_->Status(rank).tag_failures;
    }
    return sum;
  }

 private:
  static constexpr uint64_t kBlock = 3 * (1 << Rogue::kChunkLog2) + 400;

  const int rogue_rank_;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::unique_ptr<Rogue> rogue_;
  std::unique_ptr<engine::CommunicatorForTest> comm_;
  std::vector<OperationForTest> runs_;
};

std::string Named(int rank) { return absl::StrCat("peer rank ", rank, " (node-", rank, ")"); }

class Shapes : public ::testing::TestWithParam<ShapeForTest> {};

// The control: without a bug the second implementation and the engine agree on everything.
TEST_P(Shapes, AnHonestMemberIsOneOfThem) {
  for (const int size : {2, 3, 5}) {
    Party party(size, size / 2, {});
    party.Submit(GetParam());
    party.ExpectRight();
    if (HasFatalFailure()) return;
  }
}

struct Misdeed {
  const char* name;
  Bugs bugs;
  std::vector<const char*> words;  // the first reason carries one of them
};

void AskForMore(OperationSpec& spec) {
  spec.count += 8;
  if (collective::HasCounts(spec.op)) spec.counts.back() += 8;
}

void MakeShorter(crypto::RecordHeader& header) {
  header.payload_size += header.payload_size < 4 ? 4 : -4;
}

std::vector<Misdeed> Misdeeds() {
  using Header = crypto::RecordHeader;
  return {
      // Only the two ends know an AllToAllV's counts: there the header's own fields differ.
      {"another size", {.spec = AskForMore}, {"OPERATION_MISMATCH", "RECORD_UNEXPECTED"}},
      {"another type",
       {.spec = [](OperationSpec& spec) { spec.dtype = collective::DataType::kInt32; }},
       {"OPERATION_MISMATCH"}},
      {"another digest",
       {.header = [](Header& h) { h.operation_digest[0] ^= 1; }},
       {"OPERATION_MISMATCH"}},
      // Its records are of operations that are yet to come, and it waits for others of those.
      {"too early", {.first_sequence = 1}, {"RECORD_UNEXPECTED", "DEADLINE"}},
      {"too late", {.late = absl::Milliseconds(300)}, {"DEADLINE"}},
      {"silent", {.silent = true}, {"DEADLINE"}},
      {"wrong chunk count", {.header = [](Header& h) { ++h.chunk_count; }}, {"RECORD_UNEXPECTED"}},
      {"wrong last", {.header = [](Header& h) { h.last = !h.last; }}, {"RECORD_UNEXPECTED"}},
      {"another phase", {.header = [](Header& h) { h.phase = 9; }}, {"RECORD_UNEXPECTED"}},
      {"another length", {.header = MakeShorter}, {"RECORD_UNEXPECTED"}},
      // A neighbour in a ring may expect one of that name from here: under a sender key a member
      // can forge (docs/threat-model.md). Then what is missing, or comes twice, gives it away.
      {"another source",
       {.header = [](Header& h) { h.source = h.source == 0 ? 3 : 0; }},
       {"RECORD_UNEXPECTED", "RECORD_REPLAYED", "RECORD_REORDERED", "RECORD_TAG"}},
      {"another epoch", {.header = [](Header& h) { h.epoch_prefix[3] ^= 1; }}, {"RECORD_EPOCH"}},
      {"another key", {.other_key = true}, {"RECORD_TAG"}},
      {"a changed byte", {.corrupt = true}, {"RECORD_TAG"}},
      {"twice", {.twice = true}, {"RECORD_REPLAYED"}},
      {"two under one nonce", {.reseal = true}, {"RECORD_REPLAYED"}},
      // Seen by the next record, of this operation or a later one, or by time.
      {"nothing", {.skip = true}, {"RECORD_REORDERED", "RECORD_UNEXPECTED", "DEADLINE"}},
      {"garbage", {.garbage = true}, {"RECORD_MALFORMED"}},
      {"farewell", {.leave = true}, {"PEER_CLOSED"}},
  };
}

// Who sends nothing of its own does no harm: a leaf of a broadcast, a root that gathers.
bool Seals(const ShapeForTest& shape, int rank, int size) {
  OperationSpec spec;
  spec.op = shape.op;
  spec.algorithm = shape.algorithm;
  spec.root = 1;
  spec = collective::ViewsForTest(spec, size, 1)[rank];
  auto plan = collective::BuildPlan(spec, rank, size);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() && (*plan)->counters.records_sealed > 0;
}

TEST_P(Shapes, AMemberThatMisbehavesIsNamed) {
  constexpr int kSize = 4;
  int turn = 0;
  for (const Misdeed& misdeed : Misdeeds()) {
    // A barrier has neither size nor type.
    if (GetParam().op == Op::kBarrier && misdeed.bugs.spec) continue;
    std::vector<::testing::Matcher<std::string>> words;
    bool waits = false;
    for (const char* word : misdeed.words) {
      words.push_back(HasSubstr(absl::StrCat("[", word, "]")));
      waits |= word == std::string("DEADLINE");
    }
    // The root and another rank in turns, where both seal.
    for (int tries = 0; tries < 2; ++tries) {
      const int rogue = 1 + ++turn % 2;
      if (!Seals(GetParam(), rogue, kSize)) continue;
      SCOPED_TRACE(absl::StrCat(misdeed.name, ", rank ", rogue));
      Party party(kSize, rogue, misdeed.bugs, waits ? absl::Milliseconds(150) : absl::Seconds(20));
      party.Submit(GetParam());
      const Fault fault = party.FirstFault();
      EXPECT_THAT(fault.message, ::testing::AnyOfArray(words));
      if (absl::StrContains(fault.message, "[DEADLINE]")) {
        // Who waits for one that waits for the rogue may be the first to lose patience.
        EXPECT_NE(fault.peer, fault.rank) << fault.message;
      } else if (absl::StrContains(fault.message, "cannot check")) {
        EXPECT_THAT(fault.message, HasSubstr("one of "));
        EXPECT_THAT(fault.message, HasSubstr(absl::StrCat("rank ", rogue, " (node-")));
      } else {
        EXPECT_EQ(fault.peer, rogue) << fault.message;
        EXPECT_THAT(fault.message, HasSubstr(Named(rogue)));
      }
      party.ExpectTheSameEnd(fault);
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Shapes, ::testing::ValuesIn(collective::AllShapesForTest()),
                         [](const auto& info) { return collective::NameForTest(info.param); });

TEST(Rogue, ThatRepeatsAnEarlierOperationsRecordIsNamed) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRingForward}) {
    Party party(3, 1, {.at = 5, .stale = true});
    party.Submit({Op::kAllGather, algorithm});
    const Fault fault = party.FirstFault();
    EXPECT_EQ(fault.peer, 1) << fault.message;
    EXPECT_THAT(fault.message, HasSubstr("[RECORD_REPLAYED]"));
    party.ExpectTheSameEnd(fault);
  }
}

// Where every rank that hands a record on has opened it before.
class Forwarders : public ::testing::TestWithParam<ShapeForTest> {};

TEST_P(Forwarders, ThatBreakWhatTheyHandOnAreNamed) {
  int seen = 0;
  for (const int size : {3, 4, 8}) {
    for (int rogue = 0; rogue < size; ++rogue) {
      OperationSpec spec;
      spec.op = GetParam().op;
      spec.algorithm = GetParam().algorithm;
      spec.root = 1;
      spec.count = 100;
      spec = collective::ViewsForTest(spec, size, 1)[rogue];
      const auto plan = *collective::BuildPlan(spec, rogue, size);
      if (plan->counters.forwarded == 0) continue;
      uint64_t targets = 0;  // most that one record is handed to
      for (const collective::Step& step : plan->steps) {
        if (collective::Plan::SendsOn(step))
          targets = std::max<uint64_t>(targets, step.target_count);
      }
      for (const int at : {0, 2}) {
        SCOPED_TRACE(absl::StrCat("rank ", rogue, " of ", size, ", record ", at));
        Party party(size, rogue, {.forwards = true, .at = at, .corrupt = true});
        party.Submit(GetParam());
        const Fault fault = party.FirstFault();
        EXPECT_THAT(fault.message, HasSubstr("[RECORD_TAG]"));
        EXPECT_THAT(fault.message, HasSubstr(Named(rogue)));
        EXPECT_THAT(fault.message, HasSubstr("handed it on, and checks what it hands on"));
        EXPECT_EQ(fault.peer, rogue);
        // Those whom it handed the record saw it, as far as they got, and passed it to nobody.
        EXPECT_GE(party.tag_failures(), 1u);
        EXPECT_LE(party.tag_failures(), targets);
        party.ExpectTheSameEnd(fault);
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 4);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Forwarders,
    ::testing::Values(ShapeForTest{Op::kAllReduce, Algorithm::kRingForward},
                      ShapeForTest{Op::kAllGather, Algorithm::kRingForward},
                      ShapeForTest{Op::kAllGather, Algorithm::kDoublingForward},
                      ShapeForTest{Op::kBroadcast, Algorithm::kChainForward},
                      ShapeForTest{Op::kBroadcast, Algorithm::kBinomialForward}),
    [](const auto& info) { return collective::NameForTest(info.param); });

// Ranks that cannot open what they hand on cannot judge it: the reason names all that had it.
TEST(Relays, ThatBreakWhatTheyHandOnAreAmongThoseNamed) {
  constexpr int kSize = 8;
  for (int rogue = 0; rogue < kSize; rogue += 3) {
    for (const int at : {0, 5}) {
      SCOPED_TRACE(absl::StrCat("rank ", rogue, ", record ", at));
      Party party(kSize, rogue, {.forwards = true, .at = at, .corrupt = true});
      party.Submit({Op::kAllToAll, Algorithm::kBruckForward});
      const Fault fault = party.FirstFault();
      EXPECT_THAT(fault.message, HasSubstr("[RECORD_TAG]"));
      EXPECT_THAT(fault.message, HasSubstr("the others handed on what they cannot check"));
      const std::string suspects = fault.message.substr(fault.message.find("one of"));
      EXPECT_THAT(suspects, HasSubstr(absl::StrCat("rank ", rogue, " (node-", rogue, ")")));
      party.ExpectTheSameEnd(fault);
    }
  }
}

}  // namespace
}  // namespace caravan::adversary
