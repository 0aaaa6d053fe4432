// SPDX-License-Identifier: Apache-2.0
#include "collective/cost/selector.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "collective/cost/cost.h"

namespace caravan::collective {
namespace {

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

constexpr size_t kNoRow = SIZE_MAX;

std::string DescribeRow(const SelectorRow& row, size_t index) {
  return absl::StrCat("row ", index, " of the table (",
                      row.max_bytes == UINT64_MAX ? std::string("any size")
                                                  : absl::StrCat("up to ", row.max_bytes, " bytes"),
                      ", up to ", row.max_ranks, " ranks)");
}

// And the row that decided, kNoRow where none did.
absl::StatusOr<Algorithm> ResolveBy(const OperationSpec& spec, int size, const SelectorTable& table,
                                    size_t* row) {
  *row = kNoRow;
  const absl::Span<const Algorithm> known = AlgorithmsFor(spec.op);
  if (known.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", static_cast<int>(spec.op), " is unknown"));
  }
  if (spec.algorithm != Algorithm::kAuto) {
    if (Fits(spec.op, spec.algorithm)) return spec.algorithm;
    return absl::UnimplementedError(absl::StrCat(View(Name(spec.algorithm)), " cannot carry ",
                                                 spec.Describe(),
                                                 ": choose another algorithm or auto"));
  }
  const uint64_t bytes = spec.WholeBytes(size);
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].op != spec.op || bytes > table[i].max_bytes || size > table[i].max_ranks) continue;
    if (!Fits(spec.op, table[i].algorithm)) {
      return absl::UnimplementedError(absl::StrCat(DescribeRow(table[i], i), " names ",
                                                   View(Name(table[i].algorithm)),
                                                   ", which cannot carry ", spec.Describe()));
    }
    *row = i;
    return table[i].algorithm;
  }
  return known.front();
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

absl::StatusOr<SelectorTable> ParseSelectorTable(absl::string_view canonical) {
  const auto bad = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("selector table: ", parts...));
  };
  constexpr size_t kCountSize = 4;
  constexpr size_t kRowSize = 14;
  const auto take = [&canonical](int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= uint64_t{static_cast<uint8_t>(canonical[i])} << (8 * i);
    }
    canonical.remove_prefix(bytes);
    return value;
  };
  if (canonical.size() < kCountSize) return bad("has ", canonical.size(), " bytes");
  const uint64_t rows = take(kCountSize);
  if (rows > kMaxSelectorRows) return bad("has ", rows, " rows, at most ", kMaxSelectorRows);
  if (canonical.size() != rows * kRowSize) {
    return bad("has ", canonical.size(), " bytes of rows, expected ", rows * kRowSize);
  }
  SelectorTable table(rows);
  for (size_t i = 0; i < rows; ++i) {
    SelectorRow& row = table[i];
    row.op = static_cast<Operation>(take(1));
    row.algorithm = static_cast<Algorithm>(take(1));
    const uint64_t ranks = take(4);
    row.max_ranks = static_cast<int>(std::min<uint64_t>(ranks, kMaxSelectorRanks));
    row.max_bytes = take(8);
    if (!Fits(row.op, row.algorithm)) {
      return bad("row ", i, ": algorithm ", static_cast<int>(row.algorithm),
                 " cannot carry operation ", static_cast<int>(row.op));
    }
    if (ranks < 1 || ranks > kMaxSelectorRanks) {
      return bad("row ", i, ": ", ranks, " ranks are not 1 to ", kMaxSelectorRanks);
    }
  }
  return table;
}

absl::StatusOr<Algorithm> Resolve(const OperationSpec& spec, int size, const SelectorTable& table) {
  size_t row;
  return ResolveBy(spec, size, table, &row);
}

absl::StatusOr<Selection> Select(const OperationSpec& spec, int size, const SelectorTable& table) {
  size_t row = kNoRow;
  const absl::StatusOr<Algorithm> algorithm = ResolveBy(spec, size, table, &row);
  if (!algorithm.ok()) return algorithm.status();
  std::string because = "no row of the table fits";
  if (AlgorithmsFor(spec.op).size() == 1) because = "nothing else carries it";
  if (spec.algorithm != Algorithm::kAuto) because = "asked for";
  if (row != kNoRow) because = DescribeRow(table[row], row);
  return Explained(spec, size, *algorithm, because);
}

}  // namespace caravan::collective
