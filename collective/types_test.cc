// SPDX-License-Identifier: Apache-2.0
#include "collective/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace caravan::collective {
namespace {

using testing::HasSubstr;

TEST(Names, ParseBackToTheirValues) {
  for (int i = 1; i <= 13; ++i) {
    EXPECT_EQ(*ParseOperation(Name(static_cast<Operation>(i))), static_cast<Operation>(i));
  }
  for (int i = 1; i <= 12; ++i) {
    EXPECT_EQ(*ParseDataType(Name(static_cast<DataType>(i))), static_cast<DataType>(i));
  }
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(*ParseReduceOp(Name(static_cast<ReduceOp>(i))), static_cast<ReduceOp>(i));
  }
  for (int i = 0; i <= 8; ++i) {
    EXPECT_EQ(*ParseAlgorithm(Name(static_cast<Algorithm>(i))), static_cast<Algorithm>(i));
  }
}

TEST(Names, RefuseUnknownTextAndSayWhatIsKnown) {
  const auto type = ParseDataType("float");
  EXPECT_EQ(type.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(type.status().message()),
              HasSubstr("unknown data type \"float\": expected one of f16, bf16, f32"));
  EXPECT_FALSE(ParseOperation("").ok());
  EXPECT_FALSE(ParseReduceOp("SUM").ok());
  EXPECT_FALSE(ParseAlgorithm("unknown").ok());
  EXPECT_EQ(Name(static_cast<Operation>(200)), "unknown");
}

struct BadField {
  const char* name;
  std::function<void(OperationSpec&)> spoil;
};

TEST(Validate, NamesTheFieldThatIsOutOfRange) {
  const BadField cases[] = {
      {"operation 14", [](OperationSpec& s) { s.op = static_cast<Operation>(14); }},
      {"data type 0", [](OperationSpec& s) { s.dtype = static_cast<DataType>(0); }},
      {"reduction 6", [](OperationSpec& s) { s.reduce = static_cast<ReduceOp>(6); }},
      {"algorithm 77", [](OperationSpec& s) { s.algorithm = static_cast<Algorithm>(77); }},
      {"chunk_log2 13", [](OperationSpec& s) { s.chunk_log2 = 13; }},
      {"chunk_log2 19", [](OperationSpec& s) { s.chunk_log2 = 19; }},
      {"root 4",
       [](OperationSpec& s) {
         s.op = Operation::kBroadcast;
         s.root = 4;
       }},
      {"peer 4",
       [](OperationSpec& s) {
         s.op = Operation::kSend;
         s.peer = 4;
       }},
      {"peer 1 is this rank itself",
       [](OperationSpec& s) {
         s.op = Operation::kRecv;
         s.peer = 1;
       }},
      {"count 3 must be 0",
       [](OperationSpec& s) {
         s.op = Operation::kBarrier;
         s.count = 3;
       }},
      {"root 4",
       [](OperationSpec& s) {
         s.op = Operation::kReduce;
         s.root = 4;
       }},
      {"it takes no counts a rank",
       [](OperationSpec& s) {
         s.counts = {1, 2, 3, 4};
       }},
      {"it takes no counts a rank", [](OperationSpec& s) { s.receive_counts = {1}; }},
      {"split the operation", [](OperationSpec& s) { s.count = UINT64_MAX; }},
      {"split the operation", [](OperationSpec& s) { s.count = UINT64_MAX / 4 + 2; }},
      {"split the operation",
       [](OperationSpec& s) {
         s.op = Operation::kAllGather;
         s.count = uint64_t{1} << 41;
       }},
  };
  for (const BadField& bad : cases) {
    OperationSpec spec;
    spec.count = 10;
    ASSERT_TRUE(spec.Validate(1, 4).ok());
    bad.spoil(spec);
    const absl::Status status = spec.Validate(1, 4);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.name));
  }
}

OperationSpec VForm(Operation op) {
  OperationSpec spec;
  spec.op = op;
  spec.counts = {1, 2, 0, 7};
  spec.count = 10;
  if (op == Operation::kAllToAllV) spec.receive_counts = {5, 2, 9, 0};
  return spec;
}

TEST(Validate, NamesTheCountThatIsWrong) {
  const BadField cases[] = {
      {"3 counts, expected one for each of 4 ranks", [](OperationSpec& s) { s.counts.pop_back(); }},
      {"5 counts", [](OperationSpec& s) { s.counts.push_back(0); }},
      {"count 11 must be the sum of the counts, 10", [](OperationSpec& s) { s.count = 11; }},
      {"the sum of the counts exceeds 4398046511104 at rank 2",
       [](OperationSpec& s) { s.counts[2] = UINT64_MAX; }},
      {"the sum of the counts exceeds 4398046511104 at rank 3",
       [](OperationSpec& s) { s.counts[2] = s.counts[3] = uint64_t{1} << 41; }},
  };
  for (const BadField& bad : cases) {
    OperationSpec spec = VForm(Operation::kAllGatherV);
    ASSERT_TRUE(spec.Validate(1, 4).ok()) << spec.Validate(1, 4);
    bad.spoil(spec);
    EXPECT_THAT(std::string(spec.Validate(1, 4).message()), HasSubstr(bad.name));
  }
  OperationSpec spec = VForm(Operation::kAllToAllV);
  ASSERT_TRUE(spec.Validate(1, 4).ok());
  EXPECT_THAT(std::string(spec.Validate(0, 4).message()),
              HasSubstr("rank 0 sends 1 elements to itself and receives 5"));
  spec.receive_counts[0] = UINT64_MAX;
  EXPECT_THAT(std::string(spec.Validate(1, 4).message()),
              HasSubstr("the sum of the receive counts exceeds"));
  spec.receive_counts.clear();
  EXPECT_THAT(std::string(spec.Validate(1, 4).message()), HasSubstr("0 receive counts, expected"));
}

struct Memory {
  Operation op;
  uint64_t input, output;  // bytes of rank 1 of 4, of ten floats
  InPlace shared;
};

TEST(Bytes, FollowNcclsConventions) {
  const Memory cases[] = {
      {Operation::kAllReduce, 40, 40, {}},
      {Operation::kAllGather, 40, 160, {true, 40, 0}},
      {Operation::kReduceScatter, 160, 40, {true, 0, 40}},
      {Operation::kBroadcast, 40, 40, {}},
      {Operation::kSend, 40, 0, {}},
      {Operation::kRecv, 0, 40, {}},
      {Operation::kAllGatherV, 8, 40, {true, 4, 0}},
      {Operation::kGather, 40, 160, {true, 40, 0}},
      {Operation::kScatter, 160, 40, {true, 0, 40}},
      {Operation::kReduce, 40, 40, {}},
      {Operation::kAllToAll, 160, 160, {false, 0, 0}},
      {Operation::kAllToAllV, 40, 64, {false, 0, 0}},
  };
  for (const Memory& memory : cases) {
    OperationSpec spec;
    spec.count = 10;
    if (HasCounts(memory.op)) spec = VForm(memory.op);
    spec.op = memory.op;
    spec.root = 1;
    EXPECT_EQ(spec.InputBytes(1, 4), memory.input) << spec.Describe();
    EXPECT_EQ(spec.OutputBytes(1, 4), memory.output) << spec.Describe();
    EXPECT_EQ(spec.InPlaceOffsets(1), memory.shared) << spec.Describe();
    if (!HasRoot(memory.op)) continue;
    const bool from_root = memory.op == Operation::kBroadcast || memory.op == Operation::kScatter;
    EXPECT_EQ(from_root ? spec.InputBytes(0, 4) : spec.OutputBytes(0, 4), 0u);
  }
}

TEST(Validate, RefusesRanksAndSizesOutOfRange) {
  const OperationSpec spec;
  EXPECT_TRUE(spec.Validate(65533, 65534).ok());
  for (const auto& [rank, size] : {std::pair{-1, 4}, {4, 4}, {0, 0}, {0, -3}, {0, 65535}}) {
    EXPECT_EQ(spec.Validate(rank, size).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Canonical, DiffersWhereverRanksMustAgree) {
  OperationSpec base;
  base.algorithm = Algorithm::kDirect;
  base.count = 10;
  std::set<std::string> seen = {base.Canonical()};
  const std::function<void(OperationSpec&)> changes[] = {
      [](OperationSpec& s) { s.op = Operation::kReduceScatter; },
      [](OperationSpec& s) { s.op = Operation::kBroadcast; },
      [](OperationSpec& s) {
        s.op = Operation::kBroadcast;
        s.root = 1;
      },
      [](OperationSpec& s) { s.dtype = DataType::kInt32; },
      [](OperationSpec& s) { s.reduce = ReduceOp::kAvg; },
      [](OperationSpec& s) { s.algorithm = Algorithm::kRing; },
      [](OperationSpec& s) { s.count = 11; },
      [](OperationSpec& s) { s.chunk_log2 = 16; },
  };
  for (const auto& change : changes) {
    OperationSpec spec = base;
    change(spec);
    EXPECT_TRUE(seen.insert(spec.Canonical()).second) << spec.Describe();
  }
}

TEST(Canonical, IsEqualForBothEndsOfOneTransfer) {
  OperationSpec send;
  send.op = Operation::kSend;
  send.peer = 1;
  OperationSpec recv;
  recv.op = Operation::kRecv;
  recv.peer = 0;
  recv.reduce = ReduceOp::kMax;  // means nothing here
  recv.root = 5;
  EXPECT_EQ(send.Canonical(), recv.Canonical());
}

TEST(Canonical, HoldsTheCountsThatAllRanksKnow) {
  OperationSpec spec = VForm(Operation::kAllGatherV);
  const std::string before = spec.Canonical();
  std::swap(spec.counts[0], spec.counts[1]);
  EXPECT_NE(spec.Canonical(), before);
  // Only its two ends know a pair's count.
  spec = VForm(Operation::kAllToAllV);
  OperationSpec other = spec;
  other.counts = {9, 2, 9, 9};
  other.count = 29;
  EXPECT_EQ(spec.Canonical(), other.Canonical());
  other.dtype = DataType::kInt8;
  EXPECT_NE(spec.Canonical(), other.Canonical());
}

TEST(Describe, IsShort) {
  OperationSpec spec;
  spec.count = 1024;
  EXPECT_EQ(spec.Describe(), "allreduce(f32 × 1024, sum)");
  spec.op = Operation::kBroadcast;
  spec.root = 2;
  EXPECT_EQ(spec.Describe(), "broadcast(f32 × 1024, root 2)");
  spec.op = Operation::kBarrier;
  EXPECT_EQ(spec.Describe(), "barrier()");
  EXPECT_EQ(VForm(Operation::kAllGatherV).Describe(), "allgatherv(f32 × 10 in all)");
  EXPECT_EQ(VForm(Operation::kAllToAllV).Describe(), "alltoallv(f32 × 10 sent in all)");
}

}  // namespace
}  // namespace caravan::collective
