// SPDX-License-Identifier: Apache-2.0
#include "client/operation.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::client {
namespace {

// Rank 1 of 4; ten floats; the input in buffer 1, the output in buffer 2, both of 160 bytes.
Arguments Base(Operation op) {
  Arguments a;
  a.op = op;
  a.count = 10;
  a.input = {1, 160, 0};
  a.output = {2, 160, 0};
  return a;
}

bool Accepts(const Arguments& a) { return BuildEntry(a, 1, 4).ok(); }

TEST(Operation, FillsTheEntry) {
  Arguments a = Base(Operation::kReduceScatter);
  a.dtype = DataType::kBfloat16;
  a.reduce = ReduceOp::kMax;
  a.algorithm = Algorithm::kRing;
  a.input.offset = 80;
  a.output.offset = 140;
  auto entry = BuildEntry(a, 1, 4);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->op, 3);
  EXPECT_EQ(entry->dtype, 2);
  EXPECT_EQ(entry->reduce, 4);
  EXPECT_EQ(entry->algorithm, 2);
  EXPECT_EQ(entry->count, 10);
  EXPECT_EQ(entry->input_buffer, 1);
  EXPECT_EQ(entry->input_offset, 80);
  EXPECT_EQ(entry->output_buffer, 2);
  EXPECT_EQ(entry->output_offset, 140);
  EXPECT_EQ(entry->reserved, 0);
  EXPECT_EQ(entry->counts_buffer, 0);
}

struct Extent {
  Operation op;
  uint64_t input;  // bytes of ten floats among four ranks; 0: takes none
  uint64_t output;
};

class RangeTest : public ::testing::TestWithParam<Extent> {};

TEST_P(RangeTest, EndsWhereItsBufferEnds) {
  Arguments a = Base(GetParam().op);
  a.peer = 2;
  a.root = 1;
  ASSERT_TRUE(Accepts(a));
  for (Place Arguments::*place : {&Arguments::input, &Arguments::output}) {
    const uint64_t bytes = place == &Arguments::input ? GetParam().input : GetParam().output;
    Arguments b = a;
    (b.*place).offset = 160 - bytes;
    EXPECT_TRUE(Accepts(b));
    if (bytes == 0) continue;
    (b.*place).offset += 1;
    EXPECT_FALSE(Accepts(b));
    (b.*place).offset = ~uint64_t{0};
    EXPECT_FALSE(Accepts(b));
    (b.*place) = {};
    EXPECT_FALSE(Accepts(b));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operation, RangeTest,
    ::testing::Values(Extent{Operation::kAllReduce, 40, 40}, Extent{Operation::kAllGather, 40, 160},
                      Extent{Operation::kReduceScatter, 160, 40},
                      Extent{Operation::kBroadcast, 40, 40}, Extent{Operation::kSend, 40, 0},
                      Extent{Operation::kRecv, 0, 40}, Extent{Operation::kBarrier, 0, 0},
                      Extent{Operation::kReduce, 40, 40}, Extent{Operation::kGather, 40, 160},
                      Extent{Operation::kScatter, 160, 40},
                      Extent{Operation::kAllToAll, 160, 160}));

constexpr uint64_t kCounts[] = {4, 5, 0, 7};
constexpr uint64_t kReceived[] = {1, 5, 30, 2};

TEST(Operation, TakesAsManyElementsAsTheCountsSay) {
  for (const bool gathers : {true, false}) {
    Arguments a = Base(gathers ? Operation::kAllGatherV : Operation::kAllToAllV);
    a.counts = kCounts;
    if (!gathers) a.receive_counts = kReceived;
    a.input.offset = 160 - (gathers ? 20 : 64);
    a.output.offset = 160 - (gathers ? 64 : 152);
    auto entry = BuildEntry(a, 1, 4);
    ASSERT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ(entry->count, 16);
    EXPECT_EQ(entry->op, gathers ? 8 : 13);
    Arguments b = a;
    b.input.offset += 4;
    EXPECT_FALSE(Accepts(b));
    b = a;
    b.output.offset += 4;
    EXPECT_FALSE(Accepts(b));
  }
}

TEST(Operation, RefusesCountsThatAreNotOneARank) {
  Arguments a = Base(Operation::kAllGatherV);
  EXPECT_EQ(BuildEntry(a, 1, 4).status(),
            absl::InvalidArgumentError("allgatherv: 0 counts, expected one for each of 4 ranks"));
  const uint64_t huge[] = {1, uint64_t{1} << 62, 0, 0};
  a.counts = huge;
  EXPECT_EQ(BuildEntry(a, 1, 4).status(),
            absl::InvalidArgumentError("allgatherv: the sum of the counts overflows"));
  a = Base(Operation::kAllToAllV);
  a.counts = kCounts;
  EXPECT_FALSE(Accepts(a));
  a.receive_counts = absl::MakeConstSpan(kReceived).first(3);
  EXPECT_FALSE(Accepts(a));
  a.receive_counts = kReceived;
  EXPECT_TRUE(Accepts(a));
  EXPECT_EQ(BuildEntry(a, 0, 4).status(),
            absl::InvalidArgumentError("alltoallv: rank 0 sends itself 4 elements and receives 1"));
}

TEST(Operation, IgnoresWhatTheRootAloneReadsOrWrites) {
  for (const Operation op : {Operation::kReduce, Operation::kGather, Operation::kScatter}) {
    Arguments a = Base(op);
    a.root = 0;
    (op == Operation::kScatter ? a.input : a.output) = {};
    EXPECT_TRUE(BuildEntry(a, 1, 4).ok());
    EXPECT_FALSE(BuildEntry(a, 0, 4).ok());
  }
}

TEST(Operation, RefusesCountsThatOverflow) {
  Arguments a = Base(Operation::kAllGather);
  for (uint64_t count : {~uint64_t{0}, uint64_t{1} << 60, (uint64_t{1} << 62) + 1}) {
    a.count = count;
    EXPECT_FALSE(Accepts(a)) << count;
  }
}

TEST(Operation, TakesACountOfZero) {
  Arguments a = Base(Operation::kAllReduce);
  a.count = 0;
  a.input.offset = a.input.size;
  EXPECT_TRUE(Accepts(a));
}

TEST(Operation, RefusesUnknownValues) {
  for (auto change : std::vector<void (*)(Arguments&)>{
           [](Arguments& a) { a.dtype = static_cast<DataType>(0); },
           [](Arguments& a) { a.dtype = static_cast<DataType>(13); },
           [](Arguments& a) { a.reduce = static_cast<ReduceOp>(0); },
           [](Arguments& a) { a.reduce = static_cast<ReduceOp>(6); },
           [](Arguments& a) { a.algorithm = static_cast<Algorithm>(9); },
           [](Arguments& a) { a.root = 4; },
           [](Arguments& a) { a.root = -1; },
       }) {
    Arguments a = Base(Operation::kAllReduce);
    change(a);
    EXPECT_FALSE(Accepts(a));
  }
}

TEST(Operation, RefusesPeersThatAreNotOthers) {
  for (int peer : {-1, 1, 4}) {
    Arguments a = Base(Operation::kSend);
    a.peer = peer;
    EXPECT_FALSE(Accepts(a)) << peer;
  }
}

TEST(Operation, IgnoresTheInputOfABroadcastElsewhereThanAtTheRoot) {
  Arguments a = Base(Operation::kBroadcast);
  a.root = 0;
  a.input = {1, 160, 1000};
  auto entry = BuildEntry(a, 1, 4);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->input_buffer, 2);
  EXPECT_FALSE(BuildEntry(a, 0, 4).ok());
}

TEST(Operation, TakesOverlapOnlyInPlace) {
  auto accepts = [](Operation op, uint64_t in, uint64_t out) {
    Arguments a = Base(op);
    a.root = 1;
    a.input = {1, 1000, in};
    a.output = {1, 1000, out};
    return Accepts(a);
  };
  EXPECT_TRUE(accepts(Operation::kAllReduce, 0, 0));
  EXPECT_TRUE(accepts(Operation::kAllReduce, 0, 40));
  EXPECT_FALSE(accepts(Operation::kAllReduce, 0, 4));
  EXPECT_TRUE(accepts(Operation::kBroadcast, 8, 8));
  EXPECT_FALSE(accepts(Operation::kBroadcast, 8, 4));
  EXPECT_TRUE(accepts(Operation::kAllGather, 40, 0));  // this rank's place
  EXPECT_FALSE(accepts(Operation::kAllGather, 0, 0));
  EXPECT_TRUE(accepts(Operation::kGather, 40, 0));
  EXPECT_FALSE(accepts(Operation::kGather, 0, 0));
  EXPECT_TRUE(accepts(Operation::kScatter, 0, 40));
  EXPECT_FALSE(accepts(Operation::kScatter, 0, 0));
  EXPECT_TRUE(accepts(Operation::kReduce, 0, 0));
  EXPECT_FALSE(accepts(Operation::kAllToAll, 0, 0));
  EXPECT_TRUE(accepts(Operation::kAllToAll, 0, 160));
  EXPECT_TRUE(accepts(Operation::kReduceScatter, 0, 40));
  EXPECT_FALSE(accepts(Operation::kReduceScatter, 0, 0));
}

TEST(Operation, NamesWhatIsWrong) {
  Arguments a = Base(Operation::kAllReduce);
  a.output.offset = 130;
  EXPECT_EQ(BuildEntry(a, 1, 4).status(),
            absl::InvalidArgumentError("allreduce: output of 40 bytes at offset 130 leaves its "
                                       "buffer of 160 bytes"));
}

}  // namespace
}  // namespace caravan::client
