// SPDX-License-Identifier: Apache-2.0
//
// Every operation by every algorithm over 2, 4 and 16 daemons, up to 1 GiB a rank and 4 GiB in all;
// then with the smallest sockets that the kernel makes. For hours that nobody waits for.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/simulate/shapes_for_test.h"
#include "collective/types.h"
#include "gtest/gtest.h"
#include "tests/integration/checked_call.h"
#include "tests/integration/members.h"
#include "tests/integration/memory_watch.h"

namespace caravan::testing {
namespace {

struct Case {
  int size;
  bool tiny;
  uint64_t largest;  // bytes of a vector
};

class Soak : public ::testing::TestWithParam<Case> {};

TEST_P(Soak, IsRightInBoundedMemory) {
  const auto [size, tiny, largest] = GetParam();
  Cluster cluster;
  std::vector<pid_t> pids;
  for (int node = 0; node < size; ++node) {
    cluster.Start(node, tiny ? "send_buffer_bytes: 1 receive_buffer_bytes: 1" : "");
    pids.push_back(cluster.daemon(node).pid());
  }
  std::vector<Member> members = ConnectMembers(cluster, size);
  StandUp(members, cluster.address(0), "soak");
  for (const Member& member : members) ASSERT_NE(member.communicator, nullptr);
  MemoryWatch watch(pids);
  for (const collective::ShapeForTest& shape : collective::AllShapesForTest()) {
    // One-shot is for small vectors: every rank takes every other's whole.
    const bool small = shape.algorithm == collective::Algorithm::kOneShot;
    for (uint64_t bytes : {uint64_t{4096}, std::min(uint64_t{3} << 20, largest / 4), largest}) {
      if (small) bytes /= static_cast<uint64_t>(size);
      const uint64_t block = bytes / static_cast<uint64_t>(size) / 4 * 4;
      // Where counts differ by rank, all are about this one (CountOf), not parts of it.
      const uint64_t count =
          collective::HasCounts(shape.op)
              ? block / 4
              : collective::CountForTest(shape.op, collective::DataType::kFloat32, size, block);
      const Call call{.op = static_cast<int>(shape.op),
                      .algorithm = static_cast<Algorithm>(shape.algorithm),
                      .count = count};
      const absl::Time begun = absl::Now();
      AtOnce(members.size(), [&](size_t i) {
        EXPECT_EQ(RunChecked(*members[i].node, *members[i].communicator, call), absl::OkStatus())
            << collective::NameForTest(shape) << ", rank " << i;
      });
      if (HasFailure()) return;
      std::printf(
          "%2d ranks, %10llu bytes, %s: %s, private memory +%llu KiB\n", size,
          static_cast<unsigned long long>(bytes), collective::NameForTest(shape).c_str(),
          absl::FormatDuration(absl::Trunc(absl::Now() - begun, absl::Milliseconds(1))).c_str(),
          static_cast<unsigned long long>(watch.Growth() >> 10));
      std::fflush(stdout);
    }
  }
  // Records and scratch (daemon/engine/README.md, "Memory") take 20 MiB for 16 ranks; 64 MiB more
  // are the plans of the largest vectors, two of which are outstanding or kept.
  EXPECT_LT(watch.Growth(), 96u << 20);
}

INSTANTIATE_TEST_SUITE_P(
    Over, Soak,
    ::testing::Values(Case{2, false, uint64_t{1} << 30}, Case{4, false, uint64_t{1} << 30},
                      Case{16, false, uint64_t{256} << 20}, Case{4, true, uint64_t{1} << 20}),
    [](const auto& info) {
      return absl::StrCat(info.param.size, "Daemons", info.param.tiny ? "TinySockets" : "");
    });

}  // namespace
}  // namespace caravan::testing
