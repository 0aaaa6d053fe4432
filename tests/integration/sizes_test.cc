// SPDX-License-Identifier: Apache-2.0
//
// Vectors of 4 B to 256 MiB over 1, 2, 4 and 8 real daemons on one machine: right, without a hang,
// and counted as planned.
#include <vector>

#include "absl/base/config.h"
#include "absl/time/clock.h"
#include "collective/algorithms/build_plan.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "gtest/gtest.h"
#include "tests/integration/cluster.h"

namespace caravan::testing {
namespace {

// Bytes of the largest vector. CARAVAN_EVERY_SIZE is the soak's: 256 MiB for all. Sanitizers slow
// the cipher and the reductions down by tens: the same shapes, smaller.
constexpr uint64_t Largest(int size) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  return size > 4 ? 1 << 20 : 8 << 20;
#elif defined(CARAVAN_EVERY_SIZE)
  return 256 << 20;
#else
  return size > 4 ? 16 << 20 : size > 2 ? 64 << 20 : 256 << 20;
#endif
}

// Floats. Around the borders of an element a rank, of a chunk, of a chunk a rank.
std::vector<uint64_t> Counts(int size) {
  const uint64_t largest = Largest(size) / sizeof(float);
  return {1,      2,      7,       8,       9,         1'000,       32'767,
          32'768, 32'769, 262'144, 262'147, 1'000'003, largest - 1, largest};
}

// What the plans of one rank say, of all operations together.
collective::Counters Planned(int rank, int size, const collective::SelectorTable& table) {
  collective::Counters sum;
  for (uint64_t count : Counts(size)) {
    collective::OperationSpec spec;
    spec.count = count;
    auto algorithm = collective::Resolve(spec, size, table);
    EXPECT_TRUE(algorithm.ok()) << algorithm.status();
    if (algorithm.ok()) spec.algorithm = *algorithm;
    auto plan = collective::BuildPlan(spec, rank, size);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) continue;
    sum.sealed += (*plan)->counters.sealed;
    sum.opened += (*plan)->counters.opened;
    sum.forwarded += (*plan)->counters.forwarded;
    sum.sent += (*plan)->counters.sent;
    sum.received += (*plan)->counters.received;
  }
  return sum;
}

class Sizes : public ::testing::TestWithParam<int> {};

TEST_P(Sizes, SumAcrossDaemonsAndCountAsPlanned) {
  const int size = GetParam();
  Cluster cluster;
  cluster.StartAll(size);
  std::vector<Process> workers;
  for (int i = 0; i < size; ++i) {
    workers.push_back(
        cluster.Worker(i, size, {.counts = Counts(size), .operations = 1, .linger = true}));
  }
  for (Process& worker : workers) ASSERT_EQ(worker.Line(), "stands");
  absl::Time begun = absl::Now();
  for (uint64_t count : Counts(size)) {
    for (Process& worker : workers) {
      ASSERT_EQ(worker.Line(), "done") << count << " floats, " << size << " ranks";
    }
    std::printf("%d ranks, %llu bytes: %s\n", size, static_cast<unsigned long long>(count * 4),
                absl::FormatDuration(absl::Now() - begun).c_str());
    begun = absl::Now();
  }
  std::string first_table;
  for (int i = 0; i < size; ++i) {
    const v1::GetStatusReply status = cluster.Status(i);
    EXPECT_EQ(status.sessions_size(), size - 1);
    for (const v1::SessionInfo& session : status.sessions()) {
      EXPECT_EQ(session.verdict(), "warning") << session.ShortDebugString();
    }
    ASSERT_EQ(status.communicators_size(), 1);
    const v1::CommunicatorInfo& counted = status.communicators(0);
    // Measured by the root, and the same on all ranks.
    if (i == 0) first_table = counted.selector_table();
    EXPECT_EQ(counted.selector_table(), first_table);
    auto table = collective::ParseSelectorTable(counted.selector_table());
    ASSERT_TRUE(table.ok()) << table.status();
    const collective::Counters planned = Planned(i, size, *table);
    EXPECT_EQ(counted.operations(), Counts(size).size());
    EXPECT_EQ(counted.sealed_bytes(), planned.sealed);
    EXPECT_EQ(counted.opened_bytes(), planned.opened);
    EXPECT_EQ(counted.forwarded_bytes(), planned.forwarded);
    EXPECT_EQ(counted.sent_bytes(), planned.sent);
    EXPECT_EQ(counted.received_bytes(), planned.received);
    EXPECT_EQ(counted.expected_sealed_bytes(), planned.sealed);
    EXPECT_EQ(counted.expected_sent_bytes(), planned.sent);
    EXPECT_EQ(counted.tag_failures(), 0u);
    EXPECT_EQ(counted.failure(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, ::testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace caravan::testing
