// SPDX-License-Identifier: Apache-2.0
#include "collective/types.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

template <typename E, size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<Operation, 13> kOperations = {{{Operation::kAllReduce, "allreduce"},
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
                                               {Operation::kAllToAllV, "alltoallv"}}};
constexpr Names<DataType, 12> kDataTypes = {{{DataType::kFloat16, "f16"},
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
                                             {DataType::kUint64, "uint64"}}};
constexpr Names<ReduceOp, 5> kReduceOps = {{{ReduceOp::kSum, "sum"},
                                            {ReduceOp::kProd, "prod"},
                                            {ReduceOp::kMin, "min"},
                                            {ReduceOp::kMax, "max"},
                                            {ReduceOp::kAvg, "avg"}}};
constexpr Names<Algorithm, 9> kAlgorithms = {{{Algorithm::kAuto, "auto"},
                                              {Algorithm::kDirect, "direct"},
                                              {Algorithm::kRing, "ring"},
                                              {Algorithm::kRingForward, "ring-forward"},
                                              {Algorithm::kChainForward, "chain-forward"},
                                              {Algorithm::kDoublingForward, "doubling-forward"},
                                              {Algorithm::kOneShot, "one-shot"},
                                              {Algorithm::kBinomialForward, "binomial-forward"},
                                              {Algorithm::kBruckForward, "bruck-forward"}}};

template <typename E, size_t N>
std::string_view NameIn(const Names<E, N>& names, E value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <typename E, size_t N>
absl::StatusOr<E> ParseIn(const Names<E, N>& names, std::string_view what, std::string_view text) {
  std::string expected;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    absl::StrAppend(&expected, expected.empty() ? "" : ", ",
                    absl::string_view(name.data(), name.size()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", absl::string_view(what.data(), what.size()), " \"",
                   absl::string_view(text.data(), text.size()), "\": expected one of ", expected));
}

}  // namespace

std::string_view Name(Operation op) { return NameIn(kOperations, op); }
std::string_view Name(DataType type) { return NameIn(kDataTypes, type); }
std::string_view Name(ReduceOp op) { return NameIn(kReduceOps, op); }
std::string_view Name(Algorithm algo) { return NameIn(kAlgorithms, algo); }

absl::StatusOr<Operation> ParseOperation(std::string_view name) {
  return ParseIn(kOperations, "operation", name);
}
absl::StatusOr<DataType> ParseDataType(std::string_view name) {
  return ParseIn(kDataTypes, "data type", name);
}
absl::StatusOr<ReduceOp> ParseReduceOp(std::string_view name) {
  return ParseIn(kReduceOps, "reduction", name);
}
absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view name) {
  return ParseIn(kAlgorithms, "algorithm", name);
}

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kInt16:
    case DataType::kUint16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kUint32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUint64:
      return 8;
  }
  return 0;
}

bool Reduces(Operation op) {
  return op == Operation::kAllReduce || op == Operation::kReduceScatter || op == Operation::kReduce;
}

bool HasRoot(Operation op) {
  return op == Operation::kBroadcast || op == Operation::kGather || op == Operation::kScatter ||
         op == Operation::kReduce;
}

bool HasCounts(Operation op) { return op == Operation::kAllGatherV || op == Operation::kAllToAllV; }

bool CountsBlocks(Operation op) {
  return op == Operation::kAllGather || op == Operation::kReduceScatter ||
         op == Operation::kGather || op == Operation::kScatter || op == Operation::kAllToAll;
}

}  // namespace caravan::collective
