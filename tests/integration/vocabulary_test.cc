// SPDX-License-Identifier: Apache-2.0
//
// The public API's words have the values that the daemon reads in a ring entry. The library may not
// include the daemon's header, so the test compares them.
#include <string>
#include <vector>

#include "caravan/caravan.h"
#include "client/operation.h"
#include "collective/types.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan {
namespace {

template <typename Enum>
int Value(Enum e) {
  return static_cast<int>(e);
}

// For each value of a byte: its name there, "" where it has none. A word that only one side has
// shows as a difference.
template <typename Enum>
std::vector<std::string> Names(const std::vector<std::pair<Enum, const char*>>& words) {
  std::vector<std::string> names(256);
  for (const auto& [value, name] : words) names[static_cast<uint8_t>(value)] = name;
  return names;
}

// The daemon's words are those that it can print and read back.
template <typename Enum, typename Parse>
std::vector<std::string> DaemonsNames(Parse parse) {
  std::vector<std::string> names(256);
  for (int i = 0; i < 256; ++i) {
    const std::string name(collective::Name(static_cast<Enum>(i)));
    auto read = parse(name);
    if (read.ok() && Value(*read) == i) names[i] = name;
  }
  return names;
}

TEST(Vocabulary, HasTheDaemonsDataTypes) {
  EXPECT_EQ(Names<DataType>({{DataType::kFloat16, "f16"},
                             {DataType::kBfloat16, "bf16"},
                             {DataType::kFloat32, "f32"},
                             {DataType::kFloat64, "f64"},
                             {DataType::kInt32, "int32"},
                             {DataType::kInt64, "int64"},
                             {DataType::kInt8, "int8"},
                             {DataType::kUint8, "uint8"},
                             {DataType::kInt16, "int16"},
                             {DataType::kUint16, "uint16"},
                             {DataType::kUint32, "uint32"},
                             {DataType::kUint64, "uint64"}}),
            DaemonsNames<collective::DataType>(collective::ParseDataType));
}

TEST(Vocabulary, HasTheDaemonsSizes) {
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(SizeOf(static_cast<DataType>(i)),
              collective::SizeOf(static_cast<collective::DataType>(i)))
        << i;
  }
  EXPECT_EQ(SizeOf(DataType::kFloat64), 8u);
}

TEST(Vocabulary, HasTheDaemonsReductions) {
  EXPECT_EQ(Names<ReduceOp>({{ReduceOp::kSum, "sum"},
                             {ReduceOp::kProd, "prod"},
                             {ReduceOp::kMin, "min"},
                             {ReduceOp::kMax, "max"},
                             {ReduceOp::kAvg, "avg"}}),
            DaemonsNames<collective::ReduceOp>(collective::ParseReduceOp));
}

TEST(Vocabulary, HasTheDaemonsAlgorithms) {
  EXPECT_EQ(Names<Algorithm>({{Algorithm::kAuto, "auto"},
                              {Algorithm::kDirect, "direct"},
                              {Algorithm::kRing, "ring"},
                              {Algorithm::kRingForward, "ring-forward"},
                              {Algorithm::kChainForward, "chain-forward"},
                              {Algorithm::kDoublingForward, "doubling-forward"},
                              {Algorithm::kOneShot, "one-shot"},
                              {Algorithm::kBinomialForward, "binomial-forward"},
                              {Algorithm::kBruckForward, "bruck-forward"}}),
            DaemonsNames<collective::Algorithm>(collective::ParseAlgorithm));
}

TEST(Vocabulary, HasTheDaemonsOperations) {
  using client::Operation;
  EXPECT_EQ(Names<Operation>({{Operation::kAllReduce, "allreduce"},
                              {Operation::kAllGather, "allgather"},
                              {Operation::kReduceScatter, "reducescatter"},
                              {Operation::kBroadcast, "broadcast"},
                              {Operation::kSend, "send"},
                              {Operation::kRecv, "recv"},
                              {Operation::kBarrier, "barrier"},
                              {Operation::kAllGatherV, "allgatherv"},
                              {Operation::kGather, "gather"},
                              {Operation::kScatter, "scatter"},
                              {Operation::kReduce, "reduce"},
                              {Operation::kAllToAll, "alltoall"},
                              {Operation::kAllToAllV, "alltoallv"}}),
            DaemonsNames<collective::Operation>(collective::ParseOperation));
}

// What the library writes is what the daemon's words mean, field by field.
TEST(Vocabulary, ReachesTheRingUnchanged) {
  client::Arguments arguments;
  arguments.op = client::Operation::kReduceScatter;
  arguments.dtype = DataType::kInt64;
  arguments.reduce = ReduceOp::kAvg;
  arguments.algorithm = Algorithm::kRing;
  arguments.count = 4;
  arguments.input = {1, 64, 0};
  arguments.output = {2, 32, 0};
  auto entry = client::BuildEntry(arguments, 0, 2);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->op, Value(collective::Operation::kReduceScatter));
  EXPECT_EQ(entry->dtype, Value(collective::DataType::kInt64));
  EXPECT_EQ(entry->reduce, Value(collective::ReduceOp::kAvg));
  EXPECT_EQ(entry->algorithm, Value(collective::Algorithm::kRing));
}

}  // namespace
}  // namespace caravan
