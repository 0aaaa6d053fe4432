// SPDX-License-Identifier: Apache-2.0
//
// Every operation by every algorithm over real daemons, up to 16 of them: right, counted in the
// AEAD and socket calls as planned, and in bounded memory.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "collective/simulate/shapes_for_test.h"
#include "gtest/gtest.h"
#include "tests/integration/checked_call.h"
#include "tests/integration/members.h"
#include "tests/integration/memory_watch.h"

namespace caravan::testing {
namespace {

constexpr int kChunkLog2 = 14;

// The operation as one rank's plan sees it.
collective::OperationSpec SpecOf(const Call& call, int rank, int size) {
  collective::OperationSpec spec;
  spec.op = static_cast<collective::Operation>(call.op);
  spec.algorithm = static_cast<collective::Algorithm>(call.algorithm);
  spec.chunk_log2 = kChunkLog2;
  spec.root = static_cast<uint16_t>(call.root);
  spec.count = call.count;
  if (!collective::HasCounts(spec.op)) return spec;
  spec.count = 0;
  const bool gathers = spec.op == collective::Operation::kAllGatherV;
  for (int r = 0; r < size; ++r) {
    spec.counts.push_back(gathers ? CountOf(call, r, 0) : CountOf(call, rank, r));
    spec.count += spec.counts.back();
    if (!gathers) spec.receive_counts.push_back(CountOf(call, r, rank));
  }
  return spec;
}

struct Case {
  int size;
  bool tiny;  // socket buffers as small as the kernel makes them
};

class Algorithms : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const int size = GetParam().size;
    for (int node = 0; node < size; ++node) {
      cluster_.Start(node, GetParam().tiny ? "send_buffer_bytes: 1 receive_buffer_bytes: 1" : "");
      pids_.push_back(cluster_.daemon(node).pid());
    }
    members_ = ConnectMembers(cluster_, size);
    CommunicatorOptions options;
    options.chunk_log2 = kChunkLog2;
    StandUp(members_, cluster_.address(0), "all", options);
  }
  v1::CommunicatorInfo Counted(int node) const {
    const v1::GetStatusReply status = cluster_.Status(node);
    EXPECT_EQ(status.communicators_size(), 1);
    return status.communicators_size() == 1 ? status.communicators(0) : v1::CommunicatorInfo();
  }

  Cluster cluster_;
  std::vector<pid_t> pids_;
  std::vector<Member> members_;
};

TEST_P(Algorithms, AreRightAndCountAsPlanned) {
  const int size = GetParam().size;
  for (const Member& member : members_) ASSERT_NE(member.communicator, nullptr);
  uint64_t slots = 0;
  uint64_t scratch = 0;
  MemoryWatch watch(pids_);
  for (const collective::ShapeForTest& shape : collective::AllShapesForTest()) {
    const std::string name = collective::NameForTest(shape);
    std::vector<v1::CommunicatorInfo> before;
    for (int i = 0; i < size; ++i) before.push_back(Counted(i));
    std::vector<collective::Counters> planned(static_cast<size_t>(size));
    // Nothing, an element a block, blocks of an odd length, blocks of a chunk and some.
    std::vector<uint64_t> blocks = {0, 4, 1236, (1 << kChunkLog2) + 4};
    // A window of 2 KiB waits for timers: a record that does not fit it is enough.
    if (GetParam().tiny) blocks = {0, 4, 2500};
    if (shape.op == collective::Operation::kBarrier) blocks = {0};
    uint64_t operations = 0;
    for (const uint64_t block : blocks) {
      const Call call{
          .op = static_cast<int>(shape.op),
          .algorithm = static_cast<Algorithm>(shape.algorithm),
          .count = collective::CountForTest(shape.op, collective::DataType::kFloat32, size, block),
          .root = size / 2};
      AtOnce(members_.size(), [&](size_t i) {
        EXPECT_EQ(RunChecked(*members_[i].node, *members_[i].communicator, call), absl::OkStatus())
            << name << ", rank " << i;
      });
      if (HasFailure()) return;
      ++operations;
      for (int rank = 0; rank < size; ++rank) {
        auto plan = collective::BuildPlan(SpecOf(call, rank, size), rank, size);
        ASSERT_TRUE(plan.ok()) << plan.status();
        planned[rank].sealed += (*plan)->counters.sealed;
        planned[rank].opened += (*plan)->counters.opened;
        planned[rank].forwarded += (*plan)->counters.forwarded;
        planned[rank].sent += (*plan)->counters.sent;
        planned[rank].received += (*plan)->counters.received;
        slots = std::max<uint64_t>(slots, (*plan)->forward_slots());
        scratch = std::max(scratch, (*plan)->scratch_bytes);
      }
    }
    for (int rank = 0; rank < size; ++rank) {
      SCOPED_TRACE(absl::StrCat(name, ", rank ", rank));
      const v1::CommunicatorInfo after = Counted(rank);
      EXPECT_EQ(after.operations() - before[rank].operations(), operations);
      EXPECT_EQ(after.sealed_bytes() - before[rank].sealed_bytes(), planned[rank].sealed);
      EXPECT_EQ(after.opened_bytes() - before[rank].opened_bytes(), planned[rank].opened);
      EXPECT_EQ(after.forwarded_bytes() - before[rank].forwarded_bytes(), planned[rank].forwarded);
      EXPECT_EQ(after.sent_bytes() - before[rank].sent_bytes(), planned[rank].sent);
      EXPECT_EQ(after.received_bytes() - before[rank].received_bytes(), planned[rank].received);
      EXPECT_EQ(after.expected_sealed_bytes(), after.sealed_bytes());
      EXPECT_EQ(after.expected_opened_bytes(), after.opened_bytes());
      EXPECT_EQ(after.expected_forwarded_bytes(), after.forwarded_bytes());
      EXPECT_EQ(after.expected_sent_bytes(), after.sent_bytes());
      EXPECT_EQ(after.tag_failures(), 0u);
      EXPECT_EQ(after.failure(), "");
    }
  }
  // The bound of daemon/engine/README.md, "Memory".
  const uint64_t blocks = 3 * static_cast<uint64_t>(size - 1) + 8 + 2 * slots;
  const uint64_t bound = blocks * ((1 << kChunkLog2) + 64) + (1 << kChunkLog2) + scratch;
  for (int rank = 0; rank < size; ++rank) EXPECT_LE(Counted(rank).memory_bytes(), bound);
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER)
  // And what plans, threads that serve calls, and malloc take.
  EXPECT_LE(watch.Growth(), bound + (24 << 20));
#endif
  std::printf("%d daemons: the largest grew by %llu KiB\n", size,
              static_cast<unsigned long long>(watch.Growth() >> 10));
}

INSTANTIATE_TEST_SUITE_P(Over, Algorithms,
                         ::testing::Values(Case{2, false}, Case{5, false}, Case{3, true},
                                           Case{16, false}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.size, "Daemons",
                                               info.param.tiny ? "TinySockets" : "");
                         });

}  // namespace
}  // namespace caravan::testing
