// SPDX-License-Identifier: Apache-2.0
//
// The description of one operation: what is refused, what ranks must agree on, what memory it
// takes.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "collective/types.h"

namespace caravan::collective {
namespace {

// Ranks 0xFFFE and 0xFFFF mean "nobody" and "every rank" in steps and headers.
constexpr int kMaxRanks = 65534;
// Keeps every offset, product and chunk number of a plan far from overflow.
constexpr uint64_t kMaxWholeBytes = uint64_t{1} << 44;

absl::Status Bad(const OperationSpec& spec, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(spec.Describe(), ": ", what));
}

void Append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// `counts` of one of the V forms: one a rank, whose sum is in range. Their number is checked first,
// so that a long vector costs nothing.
absl::Status CheckCounts(const OperationSpec& spec, absl::string_view name,
                         const std::vector<uint64_t>& counts, int size) {
  if (counts.size() != static_cast<size_t>(size)) {
    return Bad(spec, absl::StrCat(counts.size(), " ", name, ", expected one for each of ", size,
                                  " ranks"));
  }
  const uint64_t limit = kMaxWholeBytes / SizeOf(spec.dtype);
  uint64_t sum = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (counts[rank] > limit - sum) {
      return Bad(spec, absl::StrCat("the sum of the ", name, " exceeds ", limit, " at rank ", rank,
                                    ": split the operation"));
    }
    sum += counts[rank];
  }
  return absl::OkStatus();
}

absl::Status CheckVForm(const OperationSpec& spec, int rank, int size) {
  const bool all_to_all = spec.op == Operation::kAllToAllV;
  if (auto s = CheckCounts(spec, all_to_all ? "send counts" : "counts", spec.counts, size);
      !s.ok()) {
    return s;
  }
  const uint64_t sum = std::accumulate(spec.counts.begin(), spec.counts.end(), uint64_t{0});
  if (spec.count != sum) {
    return Bad(spec, absl::StrCat("count ", spec.count, " must be the sum of the counts, ", sum));
  }
  if (!all_to_all) return absl::OkStatus();
  if (auto s = CheckCounts(spec, "receive counts", spec.receive_counts, size); !s.ok()) return s;
  if (spec.counts[rank] != spec.receive_counts[rank]) {
    return Bad(spec, absl::StrCat("rank ", rank, " sends ", spec.counts[rank],
                                  " elements to itself and receives ", spec.receive_counts[rank]));
  }
  return absl::OkStatus();
}

uint64_t SumBefore(const std::vector<uint64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, uint64_t{0});
}

}  // namespace

absl::Status OperationSpec::Validate(int rank, int size) const {
  if (View(Name(op)) == "unknown") {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", static_cast<int>(op), " is unknown"));
  }
  if (SizeOf(dtype) == 0) {
    return Bad(*this, absl::StrCat("data type ", static_cast<int>(dtype), " is unknown"));
  }
  if (Reduces(op) && View(Name(reduce)) == "unknown") {
    return Bad(*this, absl::StrCat("reduction ", static_cast<int>(reduce), " is unknown"));
  }
  if (View(Name(algorithm)) == "unknown") {
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
  if (HasRoot(op) && root >= size) {
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
  if (HasCounts(op)) return CheckVForm(*this, rank, size);
  if (!counts.empty() || !receive_counts.empty()) {
    return Bad(*this, "it takes no counts a rank");
  }
  const uint64_t limit = kMaxWholeBytes / SizeOf(dtype) / (CountsBlocks(op) ? size : 1);
  if (count > limit) {
    return Bad(*this, absl::StrCat("count ", count, " exceeds ", limit, ": split the operation"));
  }
  return absl::OkStatus();
}

uint64_t OperationSpec::WholeBytes(int size) const {
  return bytes() * (CountsBlocks(op) ? static_cast<uint64_t>(size) : 1);
}

uint64_t OperationSpec::InputBytes(int rank, int size) const {
  switch (op) {
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return WholeBytes(size);
    case Operation::kScatter:
      return rank == root ? WholeBytes(size) : 0;
    case Operation::kBroadcast:
      return rank == root ? bytes() : 0;
    case Operation::kAllGatherV:
      return counts[rank] * SizeOf(dtype);
    case Operation::kRecv:
      return 0;
    default:
      return bytes();
  }
}

uint64_t OperationSpec::OutputBytes(int rank, int size) const {
  switch (op) {
    case Operation::kAllGather:
    case Operation::kAllToAll:
      return WholeBytes(size);
    case Operation::kGather:
      return rank == root ? WholeBytes(size) : 0;
    case Operation::kReduce:
      return rank == root ? bytes() : 0;
    case Operation::kAllToAllV:
      return SumBefore(receive_counts, size) * SizeOf(dtype);
    case Operation::kSend:
      return 0;
    default:
      return bytes();
  }
}

InPlace OperationSpec::InPlaceOffsets(int rank) const {
  switch (op) {
    case Operation::kAllGather:
    case Operation::kGather:
      return {true, bytes() * static_cast<uint64_t>(rank), 0};
    case Operation::kAllGatherV:
      return {true, SumBefore(counts, rank) * SizeOf(dtype), 0};
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return {true, 0, bytes() * static_cast<uint64_t>(rank)};
    case Operation::kAllToAll:
    case Operation::kAllToAllV:
      return {false, 0, 0};
    default:
      return {true, 0, 0};
  }
}

std::string OperationSpec::Canonical() const {
  // A pair's two ends describe one transfer; who is who stands in the record's header.
  const bool pairwise = op == Operation::kAllToAllV;
  std::string out;
  Append(out, static_cast<uint8_t>(op == Operation::kRecv ? Operation::kSend : op), 1);
  Append(out, op == Operation::kBarrier ? 0 : static_cast<uint8_t>(dtype), 1);
  Append(out, Reduces(op) ? static_cast<uint8_t>(reduce) : 0, 1);
  Append(out, static_cast<uint8_t>(algorithm), 1);
  Append(out, HasRoot(op) ? root : 0, 2);
  Append(out, static_cast<uint64_t>(chunk_log2), 2);
  Append(out, pairwise ? 0 : count, 8);
  Append(out, pairwise ? 0 : bytes(), 8);
  if (op == Operation::kAllGatherV) {
    Append(out, counts.size(), 4);
    for (const uint64_t c : counts) Append(out, c, 8);
  }
  return out;
}

std::string OperationSpec::Describe() const {
  std::string out = absl::StrCat(View(Name(op)), "(");
  if (op != Operation::kBarrier) absl::StrAppend(&out, View(Name(dtype)), " × ", count);
  if (op == Operation::kAllGatherV) absl::StrAppend(&out, " in all");
  if (op == Operation::kAllToAllV) absl::StrAppend(&out, " sent in all");
  if (Reduces(op)) absl::StrAppend(&out, ", ", View(Name(reduce)));
  if (HasRoot(op)) absl::StrAppend(&out, ", root ", root);
  if (op == Operation::kSend) absl::StrAppend(&out, ", to ", peer);
  if (op == Operation::kRecv) absl::StrAppend(&out, ", from ", peer);
  return out + ")";
}

}  // namespace caravan::collective
