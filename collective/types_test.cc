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
  for (int i = 1; i <= 7; ++i) {
    EXPECT_EQ(*ParseOperation(Name(static_cast<Operation>(i))), static_cast<Operation>(i));
  }
  for (int i = 1; i <= 12; ++i) {
    EXPECT_EQ(*ParseDataType(Name(static_cast<DataType>(i))), static_cast<DataType>(i));
  }
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(*ParseReduceOp(Name(static_cast<ReduceOp>(i))), static_cast<ReduceOp>(i));
  }
  for (int i = 0; i <= 4; ++i) {
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
      {"operation 9", [](OperationSpec& s) { s.op = static_cast<Operation>(9); }},
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

TEST(Describe, IsShort) {
  OperationSpec spec;
  spec.count = 1024;
  EXPECT_EQ(spec.Describe(), "allreduce(f32 × 1024, sum)");
  spec.op = Operation::kBroadcast;
  spec.root = 2;
  EXPECT_EQ(spec.Describe(), "broadcast(f32 × 1024, root 2)");
  spec.op = Operation::kBarrier;
  EXPECT_EQ(spec.Describe(), "barrier()");
}

}  // namespace
}  // namespace caravan::collective
