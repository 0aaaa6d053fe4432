// SPDX-License-Identifier: Apache-2.0
#include "collective/types.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

// Ranks 0xFFFE and 0xFFFF mean "nobody" and "every rank" in steps and headers.
constexpr int kMaxRanks = 65534;
// Keeps every offset, product and chunk number of a plan far from overflow.
constexpr uint64_t kMaxWholeBytes = uint64_t{1} << 44;

template <typename E, size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<Operation, 7> kOperations = {{{Operation::kAllReduce, "allreduce"},
                                              {Operation::kAllGather, "allgather"},
                                              {Operation::kReduceScatter, "reducescatter"},
                                              {Operation::kBroadcast, "broadcast"},
                                              {Operation::kSend, "send"},
                                              {Operation::kRecv, "recv"},
                                              {Operation::kBarrier, "barrier"}}};
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
constexpr Names<Algorithm, 5> kAlgorithms = {{{Algorithm::kAuto, "auto"},
                                              {Algorithm::kDirect, "direct"},
                                              {Algorithm::kRing, "ring"},
                                              {Algorithm::kRingForward, "ring-forward"},
                                              {Algorithm::kChainForward, "chain-forward"}}};

template <typename E, size_t N>
std::string_view NameIn(const Names<E, N>& names, E value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <typename E, size_t N>
bool Known(const Names<E, N>& names, E value) {
  for (const auto& entry : names) {
    if (entry.first == value) return true;
  }
  return false;
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

bool Reduces(Operation op) {
  return op == Operation::kAllReduce || op == Operation::kReduceScatter;
}

absl::Status Bad(const OperationSpec& spec, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(spec.Describe(), ": ", what));
}

void Append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

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

absl::Status OperationSpec::Validate(int rank, int size) const {
  if (!Known(kOperations, op)) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", static_cast<int>(op), " is unknown"));
  }
  if (!Known(kDataTypes, dtype)) {
    return Bad(*this, absl::StrCat("data type ", static_cast<int>(dtype), " is unknown"));
  }
  if (Reduces(op) && !Known(kReduceOps, reduce)) {
    return Bad(*this, absl::StrCat("reduction ", static_cast<int>(reduce), " is unknown"));
  }
  if (!Known(kAlgorithms, algorithm)) {
    return Bad(*this, absl::StrCat("algorithm ", static_cast<int>(algorithm), " is unknown"));
  }
  if (size < 1 || size > kMaxRanks) {
    return Bad(*this, absl::StrCat("size ", size, " is outside 1 to ", kMaxRanks));
  }
  if (rank < 0 || rank >= size) {
    return Bad(*this, absl::StrCat("rank ", rank, " is outside 0 to ", size - 1));
  }
  if (chunk_log2 < 14 || chunk_log2 > 18) {
    return Bad(*this, absl::StrCat("chunk_log2 ", chunk_log2, " is outside 14 to 18"));
  }
  if (op == Operation::kBroadcast && root >= size) {
    return Bad(*this, absl::StrCat("root ", root, " is outside 0 to ", size - 1));
  }
  if (op == Operation::kSend || op == Operation::kRecv) {
    if (peer >= size) {
      return Bad(*this, absl::StrCat("peer ", peer, " is outside 0 to ", size - 1));
    }
    if (peer == rank) return Bad(*this, absl::StrCat("peer ", peer, " is this rank itself"));
  }
  if (op == Operation::kBarrier && count != 0) {
    return Bad(*this, absl::StrCat("count ", count, " must be 0"));
  }
  const bool blocks = op == Operation::kAllGather || op == Operation::kReduceScatter;
  const uint64_t limit = kMaxWholeBytes / SizeOf(dtype) / (blocks ? size : 1);
  if (count > limit) {
    return Bad(*this, absl::StrCat("count ", count, " exceeds ", limit, ": split the operation"));
  }
  return absl::OkStatus();
}

std::string OperationSpec::Canonical() const {
  const bool barrier = op == Operation::kBarrier;
  std::string out;
  // A pair's two ends describe one transfer; who is who stands in the record's header.
  Append(out, static_cast<uint8_t>(op == Operation::kRecv ? Operation::kSend : op), 1);
  Append(out, barrier ? 0 : static_cast<uint8_t>(dtype), 1);
  Append(out, Reduces(op) ? static_cast<uint8_t>(reduce) : 0, 1);
  Append(out, static_cast<uint8_t>(algorithm), 1);
  Append(out, op == Operation::kBroadcast ? root : 0, 2);
  Append(out, static_cast<uint64_t>(chunk_log2), 2);
  Append(out, count, 8);
  Append(out, bytes(), 8);
  return out;
}

std::string OperationSpec::Describe() const {
  std::string out = absl::StrCat(View(Name(op)), "(");
  if (op != Operation::kBarrier) absl::StrAppend(&out, View(Name(dtype)), " × ", count);
  if (Reduces(op)) absl::StrAppend(&out, ", ", View(Name(reduce)));
  if (op == Operation::kBroadcast) absl::StrAppend(&out, ", root ", root);
  if (op == Operation::kSend) absl::StrAppend(&out, ", to ", peer);
  if (op == Operation::kRecv) absl::StrAppend(&out, ", from ", peer);
  return out + ")";
}

}  // namespace caravan::collective
