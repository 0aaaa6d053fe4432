// SPDX-License-Identifier: Apache-2.0
//
// Blows at named steps of every algorithm's plan, over real daemons. Processes that are killed or
// stopped, lanes that are reset, deaf, full or out of memory, a record that is changed on its way:
// every other rank fails within its deadline with the same first reason, and all of them work again
// afterwards. Lanes that are merely slow change nothing.
#include <signal.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "collective/algorithms/build_plan.h"
#include "collective/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cluster.h"
#include "tests/integration/strike.h"

namespace caravan::testing {
namespace {

using collective::Algorithm;
using Op = collective::Operation;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kMostRanks = 4;
constexpr uint64_t kSequence = 2;  // the operations before it are done with
constexpr absl::Duration kDeadline = absl::Milliseconds(1'000);
// To agree on a reason when a member, the root even, does not answer.
constexpr absl::Duration kAgreement = absl::Seconds(3);

enum class Victim { kDaemon, kRootDaemon, kApplication };

// One operation for each algorithm, over as many ranks as it takes for somebody to hand on what is
// not its own, with three or four chunks a block.
struct Shape {
  Algorithm algorithm;
  Op op;
  int ranks;
  uint64_t count;
};
constexpr Shape kShapes[] = {
    {Algorithm::kDirect, Op::kAllReduce, 3, 300'000},
    {Algorithm::kRingForward, Op::kAllReduce, 3, 300'000},
    {Algorithm::kRing, Op::kAllReduce, 3, 300'000},
    {Algorithm::kOneShot, Op::kAllReduce, 3, 100'000},
    {Algorithm::kChainForward, Op::kBroadcast, 3, 300'000},
    {Algorithm::kBinomialForward, Op::kBroadcast, 4, 100'000},
    {Algorithm::kDoublingForward, Op::kAllGather, 4, 100'000},
    {Algorithm::kBruckForward, Op::kAllToAll, 4, 100'000},
};

struct Case {
  Blow blow;
  Victim victim;
  Where where;
  Shape shape;

  int rank() const {
    return victim == Victim::kRootDaemon ? 0 : victim == Victim::kApplication ? 1 : shape.ranks - 1;
  }
  bool is_signal() const { return blow == Blow::kKill || blow == Blow::kStop; }
  std::shared_ptr<const collective::Plan> plan() const {
    collective::OperationSpec spec;
    spec.op = shape.op;
    spec.count = shape.count;
    spec.algorithm = shape.algorithm;
    return *collective::BuildPlan(spec, rank(), shape.ranks);
  }
  // Whether there is such a step, and the blow can be felt there.
  bool makes_sense() const {
    const auto p = plan();
    if (!StepAt(*p, where).has_value()) return false;
    if (blow == Blow::kDeaf) return p->counters.received > 0;
    if (blow == Blow::kFull) return p->counters.records_sent > 0 && where != Where::kLastOpen;
    if (blow != Blow::kCorrupt) return true;
    return where == Where::kLastForward && p->counters.records_opened > 0 &&
           shape.algorithm != Algorithm::kBruckForward;
  }
};

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  static constexpr const char* kBlows[] = {"Kill", "Stop", "Reset",    "Slow",
                                           "Deaf", "Full", "NoMemory", "Corrupt"};
  static constexpr const char* kVictims[] = {"Daemon", "RootDaemon", "Application"};
  static constexpr const char* kWhere[] = {"FirstSeal", "MiddleOpen", "LastOpen", "LastForward"};
  std::string name = absl::StrCat(kBlows[static_cast<int>(info.param.blow)],
                                  kVictims[static_cast<int>(info.param.victim)], "At",
                                  kWhere[static_cast<int>(info.param.where)], "Of",
                                  std::string(Name(info.param.shape.algorithm)));
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
}

class Strikes : public ::testing::TestWithParam<Case> {
 protected:
  // One set of daemons for all cases: each leaves them as good as new, which is part of the
  // promise.
  static void SetUpTestSuite() {
    cluster_ = new Cluster;
    cluster_->StartAll(kMostRanks);
  }
  static void TearDownTestSuite() { delete cluster_; }

  // What the ranks end with, all but a victim of a signal: one line for all.
  std::string CommonLine(std::vector<Process>& workers) {
    std::set<std::string> lines;
    for (size_t i = 0; i < workers.size(); ++i) {
      if (GetParam().is_signal() && static_cast<int>(i) == GetParam().rank()) continue;
      // Who has yet to hear that the communicator stands may hear first that it failed: the first
      // operations of some algorithms need not all ranks.
      const std::string line = workers[i].Line();
      EXPECT_THAT(line, AnyOf("stands", StartsWith("failed "))) << "rank " << i;
      lines.insert(line == "stands" ? workers[i].Line() : line);
    }
    EXPECT_EQ(lines.size(), 1u) << *lines.begin() << "\n" << *lines.rbegin();
    return *lines.begin();
  }
  void CheckReason(const std::string& reason) {
    const auto& [blow, victim, where, shape] = GetParam();
    EXPECT_THAT(reason, StartsWith("failed "));
    const int rank = GetParam().rank();
    const std::string named =
        absl::StrCat("rank ", rank, " (node-", std::string(1, static_cast<char>('a' + rank)), ")");
    switch (blow) {
      case Blow::kKill:
        EXPECT_THAT(reason, HasSubstr(named));
        if (victim == Victim::kApplication) {
          EXPECT_THAT(reason, HasSubstr("ended"));
        }
        return;
      case Blow::kStop:
        EXPECT_THAT(reason, HasSubstr("no progress"));
        // Who waits for the stopped one is itself waited for, and may be the first whose time is
        // up.
        EXPECT_THAT(reason, HasSubstr(victim == Victim::kApplication
                                          ? absl::StrCat("the application of ", named,
                                                         " has called no further operation")
                                          : absl::StrCat(named, " does not answer")));
        return;
      case Blow::kDeaf:
      case Blow::kFull:
        EXPECT_THAT(reason, HasSubstr("no progress"));
        return;
      case Blow::kReset:
      case Blow::kNoMemory:
        // Either end may be the first to see it.
        EXPECT_THAT(reason, HasSubstr("connection"));
        return;
      case Blow::kCorrupt:
        EXPECT_THAT(reason, HasSubstr(absl::StrCat("peer ", named)));
        EXPECT_THAT(reason, HasSubstr("[RECORD_TAG]"));
        return;
      case Blow::kSlow:
        return;
    }
  }

  static Cluster* cluster_;
};
Cluster* Strikes::cluster_ = nullptr;

TEST_P(Strikes, FailEveryOtherRankAlikeAndARestartServes) {
  const auto& [blow, victim, where, _] = GetParam();
  const Shape& shape = GetParam().shape;
  const int rank = GetParam().rank();
  const collective::Step step = *StepAt(*GetParam().plan(), where);
  const Strike strike{
      .rank = static_cast<uint16_t>(rank),
      .sequence = kSequence,
      .kind = step.kind,
      .phase = step.phase,
      .source = step.source,
      .destination = step.destination,
      .chunk = step.chunk,
      .blow = blow,
      .pid_file = victim == Victim::kApplication ? cluster_->folder() + "/victim" : ""};
  cluster_->Start(rank, "", Cluster::StruckDaemon(), {strike.ToFlag()});
  if (HasFatalFailure()) return;
  const auto start = [&](Job job) {
    job.op = static_cast<int>(shape.op);
    job.counts = {shape.count};
    job.algorithm = static_cast<int>(shape.algorithm);
    std::vector<Process> workers(shape.ranks);
    // The communicator stands only with the last rank, so the victim is known by then.
    workers[rank] = cluster_->Worker(rank, shape.ranks, job);
    WriteAll(cluster_->folder() + "/victim", absl::StrCat(workers[rank].pid(), "\n"));
    for (int i = 0; i < shape.ranks; ++i) {
      if (i != rank) workers[i] = cluster_->Worker(i, shape.ranks, job);
    }
    return workers;
  };
  {
    std::vector<Process> workers =
        start({.operations = blow == Blow::kSlow ? 6 : 0,
               .deadline_ms = static_cast<int>(absl::ToInt64Milliseconds(kDeadline))});
    EXPECT_EQ(cluster_->daemon(rank).Line(), absl::StrCat("strikes before ", strike.Describe()));
    const absl::Time struck = absl::Now();
    const std::string line = CommonLine(workers);
    const absl::Duration took = absl::Now() - struck;
    std::printf("before %s, after %s: %s\n", strike.Describe().c_str(),
                absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))).c_str(),
                line.c_str());
    if (blow == Blow::kSlow) {
      EXPECT_EQ(line, "done");
    } else {
      EXPECT_LT(took, kDeadline + kAgreement);
      CheckReason(line);
    }
  }
  // A daemon whose sockets failed needs no restart.
  if (victim != Victim::kApplication && GetParam().is_signal()) cluster_->Start(rank);
  std::vector<Process> again = start({.operations = 3});
  for (Process& worker : again) {
    EXPECT_EQ(worker.Line(), "stands");
    EXPECT_EQ(worker.Line(), "done");
  }
}

// Signals: for two algorithms all, for the others each victim and place at least once. Sockets:
// each blow on half of the algorithms, at each place. The soak has all.
std::vector<Case> Cases(bool signals) {
  std::vector<Case> cases;
  constexpr Victim kVictims[] = {Victim::kDaemon, Victim::kRootDaemon, Victim::kApplication};
  constexpr Where kPlaces[] = {Where::kFirstSeal, Where::kMiddleOpen, Where::kLastOpen,
                               Where::kLastForward};
  constexpr Blow kSignals[] = {Blow::kKill, Blow::kStop};
  constexpr Blow kSockets[] = {Blow::kReset, Blow::kSlow,     Blow::kDeaf,
                               Blow::kFull,  Blow::kNoMemory, Blow::kCorrupt};
  int number = 0;
  for (const Shape& shape : kShapes) {
    const bool all = signals && number < 2;
    for (const Blow blow :
         signals ? absl::MakeConstSpan(kSignals) : absl::MakeConstSpan(kSockets)) {
      std::vector<Case> sensible;
      for (const Victim victim : kVictims) {
        if (!signals && victim == Victim::kApplication) continue;
        for (const Where where : kPlaces) {
          const Case one{blow, victim, where, shape};
          if (one.makes_sense()) sensible.push_back(one);
        }
      }
      if (sensible.empty()) continue;
#ifdef CARAVAN_EVERY_SIZE
      cases.insert(cases.end(), sensible.begin(), sensible.end());
      (void)all;
#else
      const int turn = number + static_cast<int>(blow);
      if (all) {
        cases.insert(cases.end(), sensible.begin(), sensible.end());
      } else if (signals || turn % 2 == 0 || blow == Blow::kCorrupt) {
        cases.push_back(sensible[static_cast<size_t>(3 * turn) % sensible.size()]);
      }
#endif
    }
    ++number;
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Signals, Strikes, ::testing::ValuesIn(Cases(true)), NameOf);
INSTANTIATE_TEST_SUITE_P(Sockets, Strikes, ::testing::ValuesIn(Cases(false)), NameOf);

TEST(Release, KnowsNoStrikes) {
  const std::string flag = Strike().ToFlag();
  Process release({Cluster::Daemon(), flag}, /*with_errors=*/true);
  EXPECT_THAT(release.Rest(), HasSubstr("unknown argument --strike="));
  EXPECT_EQ(release.Wait(), 2);
  // Nor does it hold what would strike; the other one shows that the search would find it.
  EXPECT_THAT(ReadAll(Cluster::StruckDaemon()), HasSubstr("strikes before"));
  EXPECT_EQ(ReadAll(Cluster::Daemon()).find("strikes before"), std::string::npos);
}

}  // namespace
}  // namespace caravan::testing
