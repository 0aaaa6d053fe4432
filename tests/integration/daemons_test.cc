// SPDX-License-Identifier: Apache-2.0
//
// Real daemons, real sessions, real applications on one machine: that they work, refuse and fail
// as promised.
#include <signal.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cluster.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Starts `size` workers that run until something fails, and waits until all of them stand. Each
// waits for each of the others directly: who has not moved is who is named.
std::vector<Process> StandingWorkers(const Cluster& cluster, int size, int deadline_ms) {
  std::vector<Process> workers;
  for (int i = 0; i < size; ++i) {
    workers.push_back(
        cluster.Worker(i, size,
                       {.deadline_ms = deadline_ms,
                        .algorithm = static_cast<int>(collective::Algorithm::kDirect)}));
  }
  for (Process& worker : workers) EXPECT_EQ(worker.Line(), "stands");
  return workers;
}

// The reason of every worker but `lost`: all the same, all within `limit`.
std::string CommonReason(std::vector<Process>& workers, int lost, absl::Duration limit) {
  const absl::Time begun = absl::Now();
  std::set<std::string> reasons;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (static_cast<int>(i) == lost) continue;
    std::string line = workers[i].Line();
    EXPECT_THAT(line, StartsWith("failed ")) << "rank " << i;
    reasons.insert(line);
  }
  EXPECT_LT(absl::Now() - begun, limit);
  EXPECT_EQ(reasons.size(), 1u);
  for (const std::string& reason : reasons) std::printf("reason: %s\n", reason.c_str());
  return reasons.empty() ? "" : *reasons.begin();
}

TEST(Daemons, ShowWhatTheyAre) {
  Cluster cluster;
  cluster.Start(0);
  v1::GetStatusReply status = cluster.Status(0);
  EXPECT_TRUE(status.insecure());
  EXPECT_EQ(status.attester(), "insecure-software");
  EXPECT_EQ(status.measurement().size(), 96u);
}

TEST(Daemons, RefuseACopyWithOneMoreByte) {
  Cluster cluster;
  cluster.StartAll(2);
  cluster.Start(2, "", cluster.AlteredDaemon());
  Process outsider = cluster.Worker(2, 3, {.counts = {16}, .deadline_ms = 5'000});
  std::string line = outsider.Line();
  EXPECT_THAT(line, StartsWith("failed "));
  EXPECT_THAT(line, HasSubstr("[SNP_MEASUREMENT]"));
  v1::GetStatusReply status = cluster.Status(0);
  EXPECT_GE(status.refused(), 1u);
  ASSERT_GE(status.refusals_size(), 1);
  EXPECT_THAT(status.refusals(0).reason(), HasSubstr("[SNP_MEASUREMENT]"));
  std::printf("refusal: %s\n", status.refusals(0).reason().c_str());
  // The others are not troubled.
  Process a = cluster.Worker(0, 2, {.name = "two", .counts = {16}, .operations = 3});
  Process b = cluster.Worker(1, 2, {.name = "two", .counts = {16}, .operations = 3});
  EXPECT_EQ(a.Line(), "stands");
  EXPECT_EQ(a.Line(), "done");
  EXPECT_EQ(b.Line(), "stands");
  EXPECT_EQ(b.Line(), "done");
}

// Three formats of evidence, one policy that takes them.
TEST(Daemons, WorkTogetherWithEvidenceOfDifferentFormats) {
  Cluster cluster;
  cluster.Pretend(1, "format: TDX");
  cluster.Pretend(2, "gpus: 2");
  cluster.StartAll(3);
  EXPECT_EQ(cluster.Status(0).attester(), "insecure-software");
  EXPECT_EQ(cluster.Status(1).attester(), "insecure-software tdx");
  EXPECT_EQ(cluster.Status(2).attester(), "insecure-software + 2 insecure nvidia");
  std::vector<Process> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(cluster.Worker(i, 3, {.counts = {4096}, .operations = 3}));
  }
  for (Process& worker : workers) {
    EXPECT_EQ(worker.Line(), "stands");
    EXPECT_EQ(worker.Line(), "done");
  }
  std::set<std::string> platforms;
  const v1::GetStatusReply status = cluster.Status(0);
  for (const auto& session : status.sessions()) platforms.insert(session.platform());
  EXPECT_EQ(platforms,
            (std::set<std::string>{"insecure tdx 1.5",
                                   "insecure-software milan + insecure nvidia 2 x GH100"}));
}

struct Blow {
  const char* name;
  int rank;
  bool daemon;  // or its application
  int signal;
  const char* what;  // in every other rank's reason
};

class Blows : public ::testing::TestWithParam<Blow> {};

TEST_P(Blows, FailEveryOtherRankAlikeAndARestartServes) {
  const Blow& blow = GetParam();
  Cluster cluster;
  cluster.StartAll(3);
  {
    std::vector<Process> workers = StandingWorkers(cluster, 3, /*deadline_ms=*/2'000);
    absl::SleepFor(absl::Milliseconds(200));
    (blow.daemon ? cluster.daemon(blow.rank) : workers[blow.rank]).Signal(blow.signal);
    // The deadline, and what it takes to agree on the reason.
    std::string reason = CommonReason(workers, blow.rank, absl::Seconds(8));
    EXPECT_THAT(reason, HasSubstr(absl::StrCat("rank ", blow.rank)));
    EXPECT_THAT(reason, HasSubstr(blow.what));
    if (blow.signal == SIGSTOP && blow.daemon) cluster.daemon(blow.rank).Signal(SIGKILL);
  }
  if (blow.daemon) cluster.Start(blow.rank);
  std::vector<Process> again;
  for (int i = 0; i < 3; ++i)
    again.push_back(cluster.Worker(i, 3, {.counts = {64}, .operations = 3}));
  for (Process& worker : again) {
    EXPECT_EQ(worker.Line(), "stands");
    EXPECT_EQ(worker.Line(), "done");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Signals, Blows,
    ::testing::Values(Blow{"KilledDaemon", 2, true, SIGKILL, ""},
                      Blow{"KilledRoot", 0, true, SIGKILL, ""},
                      Blow{"StoppedDaemon", 2, true, SIGSTOP, "no progress"},
                      Blow{"StoppedRoot", 0, true, SIGSTOP, "no progress"},
                      Blow{"KilledApplication", 1, false, SIGKILL, "ended"},
                      Blow{"StoppedApplication", 1, false, SIGSTOP, "no progress"},
                      Blow{"TerminatedDaemon", 1, true, SIGTERM, "is stopping"}),
    [](const auto& info) { return info.param.name; });

TEST(Daemons, NameBothSidesOfAMismatch) {
  Cluster cluster;
  cluster.StartAll(2);
  Process a = cluster.Worker(0, 2, {.counts = {1024}, .deadline_ms = 10'000});
  Process b = cluster.Worker(1, 2, {.counts = {2048}, .deadline_ms = 10'000});
  EXPECT_EQ(a.Line(), "stands");
  EXPECT_EQ(b.Line(), "stands");
  std::string reason = a.Line();
  EXPECT_EQ(b.Line(), reason);
  EXPECT_THAT(reason, HasSubstr("rank 0 called allreduce(f32 × 1024, sum), "
                                "rank 1 called allreduce(f32 × 2048, sum) as operation 0"));
}

TEST(Daemons, NameBothSidesOfADifferentSize) {
  Cluster cluster;
  cluster.StartAll(2);
  Process a = cluster.Worker(0, 2, {.counts = {1024}, .deadline_ms = 10'000});
  absl::SleepFor(absl::Milliseconds(500));
  Process b = cluster.Worker(1, 4, {.counts = {1024}, .deadline_ms = 10'000});
  std::string reason = a.Line();
  EXPECT_EQ(b.Line(), reason);
  EXPECT_THAT(reason, HasSubstr("rank 1 (node-b) asked for 4 ranks, rank 0 (node-a) for 2"));
}

TEST(Daemons, EndEpochsWithAClosedSession) {
  Cluster cluster;
  cluster.StartAll(2);
  std::vector<Process> workers = StandingWorkers(cluster, 2, 5'000);
  cluster.CloseSession(0, cluster.Status(0).sessions(0).id());
  std::string reason = CommonReason(workers, -1, absl::Seconds(8));
  EXPECT_THAT(reason, HasSubstr("session"));
}

TEST(Daemons, ReattestWhileTheyWork) {
  Cluster cluster;
  for (int i : {0, 1}) cluster.Start(i, "reattest_seconds: 1");
  std::vector<Process> workers = StandingWorkers(cluster, 2, 5'000);
  uint32_t round = 0;
  for (int i = 0; i < 100 && round < 2; ++i) {
    absl::SleepFor(absl::Milliseconds(200));
    round = cluster.Status(0).sessions(0).round();
  }
  EXPECT_GE(round, 2u);
  for (Process& worker : workers) EXPECT_EQ(worker.Line(absl::Milliseconds(1)), "");
}

TEST(Daemons, StopCleanly) {
  Cluster cluster;
  cluster.Start(0);
  cluster.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(cluster.daemon(0).Wait(), 0);
  for (const char* name : {"workload.sock", "memory.sock", "admin.sock"}) {
    EXPECT_EQ(access(absl::StrCat(cluster.runtime_dir(0), "/", name).c_str(), F_OK), -1) << name;
  }
}

TEST(CommandLine, ChecksTheConfiguration) {
  Cluster cluster;
  std::string config = cluster.WriteConfig(0, "");
  Process good({Cluster::Daemon(), "--config", config, "--check-config"}, true);
  EXPECT_THAT(good.Rest(), HasSubstr(": ok"));
  EXPECT_EQ(good.Wait(), 0);
  WriteAll(config, ReadAll(config) + "colour: 1\n");
  Process bad({Cluster::Daemon(), "--config", config, "--check-config"}, true);
  EXPECT_THAT(bad.Rest(), HasSubstr("node0.textproto:8:7: "));
  EXPECT_EQ(bad.Wait(), 2);
  Process version({Cluster::Daemon(), "--version"}, true);
  EXPECT_THAT(version.Rest(), StartsWith("caravand "));
  EXPECT_EQ(version.Wait(), 0);
  Process usage({Cluster::Daemon(), "--colour"}, true);
  EXPECT_THAT(usage.Rest(), HasSubstr("unknown argument --colour"));
  EXPECT_EQ(usage.Wait(), 2);
}

}  // namespace
}  // namespace caravan::testing
