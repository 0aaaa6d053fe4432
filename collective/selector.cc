// SPDX-License-Identifier: Apache-2.0
#include "collective/selector.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "collective/cost.h"

namespace caravan::collective {
namespace {

// Up to this many ranks the direct algorithms win at every size: fewest crypto stages, and few
// enough lanes a rank. Beyond, one neighbour at a time wins once a block is long.
constexpr int kFewRanks = 8;
constexpr uint64_t kLongVector = 4 << 20;
// The root of a direct broadcast sends (p − 1)·m, that of a direct reduce opens as much; up to here
// latency matters more than that.
constexpr uint64_t kShortRooted = 256 << 10;
// Every rank opens (p − 1)·m of a one-shot allreduce, which then has half the rounds: docs/
// performance.md has it next to direct.
constexpr uint64_t kOneShotVector = 4 << 10;
// Bruck's records travel log2(p) / 2 hops on average; while a rank's whole vector is this small the
// number of lanes, and so of system calls, counts for more.
constexpr uint64_t kBruckVector = 32 << 10;

constexpr std::array kAllReduce = {Algorithm::kDirect, Algorithm::kRingForward, Algorithm::kRing,
                                   Algorithm::kOneShot};
constexpr std::array kAllGather = {Algorithm::kDirect, Algorithm::kRingForward,
                                   Algorithm::kDoublingForward};
constexpr std::array kAllGatherV = {Algorithm::kDirect, Algorithm::kDoublingForward};
constexpr std::array kReduceScatter = {Algorithm::kDirect, Algorithm::kRing};
constexpr std::array kReduce = {Algorithm::kDirect, Algorithm::kRing};
constexpr std::array kBroadcast = {Algorithm::kChainForward, Algorithm::kDirect,
                                   Algorithm::kBinomialForward};
constexpr std::array kAllToAll = {Algorithm::kDirect, Algorithm::kBruckForward};
constexpr std::array kOnlyDirect = {Algorithm::kDirect};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string Describe(const Cost& cost) {
  return absl::StrCat(cost.rounds, cost.rounds == 1 ? " round" : " rounds", " and crypto depth ",
                      cost.crypto_depth);
}

bool Fits(Operation op, Algorithm algorithm) {
  const absl::Span<const Algorithm> known = AlgorithmsFor(op);
  return std::find(known.begin(), known.end(), algorithm) != known.end();
}

Selection Explained(const OperationSpec& spec, int size, Algorithm algorithm,
                    absl::string_view because) {
  Selection selection;
  selection.algorithm = algorithm;
  selection.reason = absl::StrCat(View(Name(algorithm)), ": ", because, "; ",
                                  Describe(CostOf(spec.op, algorithm, size)));
  absl::string_view separator = " against ";
  for (const Algorithm other : AlgorithmsFor(spec.op)) {
    if (other == algorithm) continue;
    absl::StrAppend(&selection.reason, separator, Describe(CostOf(spec.op, other, size)), " for ",
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
    case Operation::kAllGatherV:
      return kAllGatherV;
    case Operation::kReduce:
      return kReduce;
    case Operation::kAllToAll:
      return kAllToAll;
    case Operation::kSend:
    case Operation::kRecv:
    case Operation::kBarrier:
    case Operation::kGather:
    case Operation::kScatter:
    case Operation::kAllToAllV:
      return kOnlyDirect;
  }
  return {};
}

SelectorTable DefaultSelectorTable() {
  constexpr int kAnyRanks = SelectorRow{}.max_ranks;
  constexpr uint64_t kAnyBytes = UINT64_MAX;
  constexpr int kSomeRanks = 4 * kFewRanks;
  return {
      {Operation::kAllReduce, 8 * kOneShotVector, 2, Algorithm::kOneShot},
      {Operation::kAllReduce, 4 * kOneShotVector, 4, Algorithm::kOneShot},
      {Operation::kAllReduce, kOneShotVector, kFewRanks, Algorithm::kOneShot},
      {Operation::kAllReduce, kAnyBytes, kFewRanks, Algorithm::kDirect},
      {Operation::kAllReduce, kLongVector, kAnyRanks, Algorithm::kDirect},
      {Operation::kAllReduce, kAnyBytes, kAnyRanks, Algorithm::kRingForward},
      {Operation::kAllGather, kAnyBytes, kFewRanks, Algorithm::kDirect},
      {Operation::kAllGather, kLongVector, kSomeRanks, Algorithm::kDirect},
      {Operation::kAllGather, kLongVector, kAnyRanks, Algorithm::kDoublingForward},
      {Operation::kAllGather, kAnyBytes, kAnyRanks, Algorithm::kRingForward},
      {Operation::kAllGatherV, kAnyBytes, kSomeRanks, Algorithm::kDirect},
      {Operation::kAllGatherV, kAnyBytes, kAnyRanks, Algorithm::kDoublingForward},
      // Both seal and open the same bytes; the ring only spares lanes.
      {Operation::kReduceScatter, kAnyBytes, kSomeRanks, Algorithm::kDirect},
      {Operation::kReduceScatter, kLongVector, kAnyRanks, Algorithm::kDirect},
      {Operation::kReduceScatter, kAnyBytes, kAnyRanks, Algorithm::kRing},
      {Operation::kBroadcast, kAnyBytes, 2, Algorithm::kDirect},
      {Operation::kBroadcast, kShortRooted, kFewRanks, Algorithm::kDirect},
      {Operation::kBroadcast, kShortRooted, kAnyRanks, Algorithm::kBinomialForward},
      {Operation::kBroadcast, kAnyBytes, kAnyRanks, Algorithm::kChainForward},
      {Operation::kReduce, kAnyBytes, 2, Algorithm::kDirect},
      {Operation::kReduce, kShortRooted, kAnyRanks, Algorithm::kDirect},
      {Operation::kReduce, kAnyBytes, kAnyRanks, Algorithm::kRing},
      {Operation::kGather, kAnyBytes, kAnyRanks, Algorithm::kDirect},
      {Operation::kScatter, kAnyBytes, kAnyRanks, Algorithm::kDirect},
      {Operation::kAllToAll, kAnyBytes, kFewRanks, Algorithm::kDirect},
      {Operation::kAllToAll, kBruckVector, kAnyRanks, Algorithm::kBruckForward},
      {Operation::kAllToAll, kAnyBytes, kAnyRanks, Algorithm::kDirect},
      {Operation::kAllToAllV, kAnyBytes, kAnyRanks, Algorithm::kDirect},
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
  const uint64_t bytes = spec.WholeBytes(size);
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
