// SPDX-License-Identifier: Apache-2.0
//
// SIGKILL and SIGSTOP at named steps of a plan, over real daemons: every other rank fails within
// its deadline with the same first reason, and a daemon that starts again serves.
#include <signal.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cluster.h"
#include "tests/integration/strike.h"

namespace caravan::testing {
namespace {

using collective::Algorithm;
using collective::StepKind;
using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::Values;

constexpr int kRanks = 3;
constexpr uint64_t kCount = 300'000;  // three or four chunks a block
constexpr uint64_t kSequence = 2;     // the operations before it are done with
constexpr absl::Duration kDeadline = absl::Milliseconds(1'000);
// To agree on a reason when a member, the root even, does not answer.
constexpr absl::Duration kAgreement = absl::Seconds(3);

enum class Victim { kDaemon, kRootDaemon, kApplication };
enum class Where { kFirstSeal, kMiddleOpen, kLastOpen, kLastForward };

int RankOf(Victim victim) { return victim == Victim::kDaemon ? 2 : victim == Victim::kApplication; }

// The step of the victim's own plan.
collective::Step StepAt(Where where, Algorithm algorithm, int rank) {
  collective::OperationSpec spec;
  spec.count = kCount;
  spec.algorithm = algorithm;
  auto plan = collective::BuildPlan(spec, rank, kRanks);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  std::vector<collective::Step> seals, opens, forwards;
  for (const collective::Step& step : (*plan)->steps) {
    if (step.kind == StepKind::kSeal) seals.push_back(step);
    if (step.kind == StepKind::kOpen) opens.push_back(step);
    if (collective::Plan::SendsOn(step)) forwards.push_back(step);
  }
  switch (where) {
    case Where::kFirstSeal:
      return seals.front();
    case Where::kMiddleOpen:
      return opens[opens.size() / 2];
    case Where::kLastOpen:
      return opens.back();
    case Where::kLastForward:
      return forwards.back();
  }
  return {};
}

using Case = std::tuple<int, Victim, Where, Algorithm>;

class Strikes : public ::testing::TestWithParam<Case> {
 protected:
  // One set of daemons for all cases: each leaves them as good as new, which is part of the
  // promise.
  static void SetUpTestSuite() {
    cluster_ = new Cluster;
    cluster_->StartAll(kRanks);
  }
  static void TearDownTestSuite() { delete cluster_; }

  static Cluster* cluster_;
};
Cluster* Strikes::cluster_ = nullptr;

TEST_P(Strikes, FailEveryOtherRankAlikeAndARestartServes) {
  const auto [signal, victim, where, algorithm] = GetParam();
  const int rank = RankOf(victim);
  const collective::Step step = StepAt(where, algorithm, rank);
  const Strike strike{
      .rank = static_cast<uint16_t>(rank),
      .sequence = kSequence,
      .kind = step.kind,
      .phase = step.phase,
      .source = step.source,
      .destination = step.destination,
      .chunk = step.chunk,
      .signal = signal,
      .pid_file = victim == Victim::kApplication ? cluster_->folder() + "/victim" : ""};
  cluster_->Start(rank, "", Cluster::StruckDaemon(), {strike.ToFlag()});
  if (HasFatalFailure()) return;
  {
    const Job job = {.counts = {kCount},
                     .deadline_ms = static_cast<int>(absl::ToInt64Milliseconds(kDeadline)),
                     .algorithm = static_cast<int>(algorithm)};
    std::vector<Process> workers(kRanks);
    // The communicator stands only with the last rank, so the victim is known by then.
    workers[rank] = cluster_->Worker(rank, kRanks, job);
    WriteAll(cluster_->folder() + "/victim", absl::StrCat(workers[rank].pid(), "\n"));
    for (int i = 0; i < kRanks; ++i) {
      if (i != rank) workers[i] = cluster_->Worker(i, kRanks, job);
    }
    EXPECT_EQ(cluster_->daemon(rank).Line(), absl::StrCat("strikes before ", strike.Describe()));
    const absl::Time struck = absl::Now();

    std::set<std::string> reasons;
    for (int i = 0; i < kRanks; ++i) {
      if (i == rank) continue;
      EXPECT_EQ(workers[i].Line(), "stands") << "rank " << i;
      const std::string line = workers[i].Line();
      EXPECT_THAT(line, StartsWith("failed ")) << "rank " << i;
      reasons.insert(line);
    }
    const absl::Duration took = absl::Now() - struck;
    EXPECT_LT(took, kDeadline + kAgreement);
    ASSERT_EQ(reasons.size(), 1u) << *reasons.begin() << "\n" << *reasons.rbegin();
    const std::string& reason = *reasons.begin();
    std::printf("before %s, after %s: %s\n", strike.Describe().c_str(),
                absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))).c_str(),
                reason.c_str());
    if (signal == SIGSTOP) {
      EXPECT_THAT(reason, HasSubstr("no progress"));
    } else if (victim == Victim::kApplication) {
      EXPECT_THAT(reason, HasSubstr("ended"));
    }
    // In a ring, who waits for the stopped one is itself waited for: whoever's time is up first
    // names the neighbour that owes it a record.
    if (signal == SIGKILL || algorithm == Algorithm::kDirect) {
      EXPECT_THAT(reason, HasSubstr(absl::StrCat("rank ", rank, " (node-")));
    } else {
      EXPECT_THAT(reason, HasSubstr("has to send"));
    }
  }
  if (victim != Victim::kApplication) cluster_->Start(rank);
  std::vector<Process> again;
  for (int i = 0; i < kRanks; ++i) {
    again.push_back(cluster_->Worker(i, kRanks, {.counts = {kCount}, .operations = 3}));
  }
  for (Process& worker : again) {
    EXPECT_EQ(worker.Line(), "stands");
    EXPECT_EQ(worker.Line(), "done");
  }
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  const auto [signal, victim, where, algorithm] = info.param;
  static constexpr const char* kVictims[] = {"Daemon", "RootDaemon", "Application"};
  static constexpr const char* kWhere[] = {"FirstSeal", "MiddleOpen", "LastOpen", "LastForward"};
  return absl::StrCat(signal == SIGKILL ? "Kill" : "Stop", kVictims[static_cast<int>(victim)], "At",
                      kWhere[static_cast<int>(where)]);
}

constexpr auto kAnyVictim = {Victim::kDaemon, Victim::kRootDaemon, Victim::kApplication};

INSTANTIATE_TEST_SUITE_P(Direct, Strikes,
                         Combine(Values(SIGKILL, SIGSTOP), ::testing::ValuesIn(kAnyVictim),
                                 Values(Where::kFirstSeal, Where::kMiddleOpen, Where::kLastOpen),
                                 Values(Algorithm::kDirect)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(RingForward, Strikes,
                         Combine(Values(SIGKILL, SIGSTOP), ::testing::ValuesIn(kAnyVictim),
                                 Values(Where::kFirstSeal, Where::kMiddleOpen, Where::kLastForward),
                                 Values(Algorithm::kRingForward)),
                         NameOf);

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
