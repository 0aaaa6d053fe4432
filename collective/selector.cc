// SPDX-License-Identifier: Apache-2.0
#include "collective/selector.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

// Up to this many ranks the direct algorithms win at every size: fewest crypto stages, and few
// enough lanes a rank. Beyond, one neighbour at a time wins once a block is long.
constexpr int kFewRanks = 8;
constexpr uint64_t kLongVector = 4 << 20;
// The root of a direct broadcast sends (p − 1)·m; up to here latency matters more than that.
constexpr uint64_t kShortBroadcast = 256 << 10;

constexpr std::array kAllReduce = {Algorithm::kDirect, Algorithm::kRingForward, Algorithm::kRing};
constexpr std::array kAllGather = {Algorithm::kDirect, Algorithm::kRingForward};
constexpr std::array kReduceScatter = {Algorithm::kDirect, Algorithm::kRing};
constexpr std::array kBroadcast = {Algorithm::kChainForward, Algorithm::kDirect};
constexpr std::array kOnlyDirect = {Algorithm::kDirect};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

uint64_t WholeBytes(const OperationSpec& spec, int size) {
  const bool blocks = spec.op == Operation::kAllGather || spec.op == Operation::kReduceScatter;
  return spec.bytes() * (blocks ? static_cast<uint64_t>(size) : 1);
}

// What the choice costs: rounds one after another, and seal or open stages among them.
std::string Cost(Operation op, Algorithm algorithm, int size) {
  const int hops = std::max(size - 1, 0);
  const bool both_halves = op == Operation::kAllReduce;
  int rounds = size > 1 ? 1 : 0;
  int depth = rounds;
  switch (algorithm) {
    case Algorithm::kDirect:
      rounds *= both_halves ? 2 : 1;
      depth = rounds;
      break;
    case Algorithm::kRing:
      rounds = depth = hops * (both_halves ? 2 : 1);
      break;
    case Algorithm::kRingForward:
      rounds = hops * (both_halves ? 2 : 1);
      depth = hops == 0 ? 0 : (both_halves ? hops + 1 : 1);
      break;
    case Algorithm::kChainForward:
      rounds = hops;
      break;
    case Algorithm::kAuto:
      break;
  }
  return absl::StrCat(rounds, rounds == 1 ? " round" : " rounds", " and crypto depth ", depth);
}

bool Fits(Operation op, Algorithm algorithm) {
  const absl::Span<const Algorithm> known = AlgorithmsFor(op);
  return std::find(known.begin(), known.end(), algorithm) != known.end();
}

Selection Explained(const OperationSpec& spec, int size, Algorithm algorithm,
                    absl::string_view because) {
  Selection selection;
  selection.algorithm = algorithm;
  selection.reason =
      absl::StrCat(View(Name(algorithm)), ": ", because, "; ", Cost(spec.op, algorithm, size));
  absl::string_view separator = " against ";
  for (const Algorithm other : AlgorithmsFor(spec.op)) {
    if (other == algorithm) continue;
    absl::StrAppend(&selection.reason, separator, Cost(spec.op, other, size), " for ",
                    View(Name(other)));
    separator = ", ";
  }
  return selection;
}

std::string DescribeRow(const SelectorRow& row, size_t index) {
  return absl::StrCat("row ", index, " of the table (",
                      row.max_bytes == UINT64_MAX ? std::string("any size")
                                                  : absl::StrCat("up to ", row.max_bytes, " bytes"),
                      ", up to ", row.max_ranks, " ranks)");
}

}  // namespace

absl::Span<const Algorithm> AlgorithmsFor(Operation op) {
  switch (op) {
    case Operation::kAllReduce:
      return kAllReduce;
    case Operation::kAllGather:
      return kAllGather;
    case Operation::kReduceScatter:
      return kReduceScatter;
    case Operation::kBroadcast:
      return kBroadcast;
    case Operation::kSend:
    case Operation::kRecv:
    case Operation::kBarrier:
      return kOnlyDirect;
  }
  return {};
}

SelectorTable DefaultSelectorTable() {
  constexpr int kAnyRanks = SelectorRow{}.max_ranks;
  constexpr uint64_t kAnyBytes = UINT64_MAX;
  return {
      {Operation::kAllReduce, kAnyBytes, kFewRanks, Algorithm::kDirect},
      {Operation::kAllReduce, kLongVector, kAnyRanks, Algorithm::kDirect},
      {Operation::kAllReduce, kAnyBytes, kAnyRanks, Algorithm::kRingForward},
      {Operation::kAllGather, kAnyBytes, kFewRanks, Algorithm::kDirect},
      {Operation::kAllGather, kLongVector, kAnyRanks, Algorithm::kDirect},
      {Operation::kAllGather, kAnyBytes, kAnyRanks, Algorithm::kRingForward},
      // Both seal and open the same bytes; the ring only spares lanes.
      {Operation::kReduceScatter, kAnyBytes, 4 * kFewRanks, Algorithm::kDirect},
      {Operation::kReduceScatter, kLongVector, kAnyRanks, Algorithm::kDirect},
      {Operation::kReduceScatter, kAnyBytes, kAnyRanks, Algorithm::kRing},
      {Operation::kBroadcast, kAnyBytes, 2, Algorithm::kDirect},
      {Operation::kBroadcast, kShortBroadcast, kAnyRanks, Algorithm::kDirect},
      {Operation::kBroadcast, kAnyBytes, kAnyRanks, Algorithm::kChainForward},
      {Operation::kSend, kAnyBytes, kAnyRanks, Algorithm::kDirect},
      {Operation::kRecv, kAnyBytes, kAnyRanks, Algorithm::kDirect},
      {Operation::kBarrier, kAnyBytes, kAnyRanks, Algorithm::kDirect},
  };
}

std::string Canonical(const SelectorTable& table) {
  std::string out;
  const auto append = [&out](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  };
  append(table.size(), 4);
  for (const SelectorRow& row : table) {
    append(static_cast<uint8_t>(row.op), 1);
    append(static_cast<uint8_t>(row.algorithm), 1);
    append(static_cast<uint32_t>(row.max_ranks), 4);
    append(row.max_bytes, 8);
  }
  return out;
}

absl::StatusOr<Selection> Select(const OperationSpec& spec, int size, const SelectorTable& table) {
  if (AlgorithmsFor(spec.op).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", static_cast<int>(spec.op), " is unknown"));
  }
  if (spec.algorithm != Algorithm::kAuto) {
    if (!Fits(spec.op, spec.algorithm)) {
      return absl::UnimplementedError(absl::StrCat(View(Name(spec.algorithm)), " cannot carry ",
                                                   spec.Describe(),
                                                   ": choose another algorithm or auto"));
    }
    return Explained(spec, size, spec.algorithm, "asked for");
  }
  const uint64_t bytes = WholeBytes(spec, size);
  for (size_t i = 0; i < table.size(); ++i) {
    const SelectorRow& row = table[i];
    if (row.op != spec.op || bytes > row.max_bytes || size > row.max_ranks) continue;
    if (!Fits(spec.op, row.algorithm)) {
      return absl::UnimplementedError(absl::StrCat(DescribeRow(row, i), " names ",
                                                   View(Name(row.algorithm)),
                                                   ", which cannot carry ", spec.Describe()));
    }
    return Explained(spec, size, row.algorithm, DescribeRow(row, i));
  }
  return Explained(spec, size, AlgorithmsFor(spec.op).front(), "no row of the table fits");
}

}  // namespace caravan::collective
