// SPDX-License-Identifier: Apache-2.0
//
// Chooses an algorithm and says why. Every rank of a communicator must choose alike, so the
// choice depends on the operation and on a table that is part of the communicator's roster.
#ifndef CARAVAN_COLLECTIVE_COST_SELECTOR_H_
#define CARAVAN_COLLECTIVE_COST_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "collective/types.h"

namespace caravan::collective {

inline constexpr int kMaxSelectorRanks = 65534;
inline constexpr size_t kMaxSelectorRows = 1024;

// The first row that fits (op equal, bytes ≤ max_bytes, size ≤ max_ranks) decides; without one,
// the first of AlgorithmsFor(op) does.
struct SelectorRow {
  Operation op = Operation::kAllReduce;
  uint64_t max_bytes = UINT64_MAX;  // of the whole vector: OperationSpec::WholeBytes
  int max_ranks = kMaxSelectorRanks;
  Algorithm algorithm = Algorithm::kDirect;

  friend bool operator==(const SelectorRow&, const SelectorRow&) = default;
};

using SelectorTable = std::vector<SelectorRow>;

// For where nothing was measured: what default rates (cost.h) give, for any number of ranks.
SelectorTable DefaultSelectorTable();

// u32 rows, then for each op u8, algorithm u8, max_ranks u32, max_bytes u64; little-endian.
std::string Canonical(const SelectorTable& table);
// The other way round, of a table from outside. InvalidArgument: not what Canonical() makes, more
// than kMaxSelectorRows, or a row that names what is unknown or does not fit its operation.
absl::StatusOr<SelectorTable> ParseSelectorTable(absl::string_view canonical);

struct Selection {
  Algorithm algorithm = Algorithm::kDirect;
  std::string reason;  // "direct: 2 rounds and crypto depth 2 against 6 and 4 for the ring"
};

// Resolves spec.algorithm: kAuto by the table, anything else as it is when it fits the operation
// (Unimplemented otherwise).
absl::StatusOr<Selection> Select(const OperationSpec& spec, int size, const SelectorTable& table);
// Chooses without the reason, which takes longer to tell than the choice does to make.
absl::StatusOr<Algorithm> Resolve(const OperationSpec& spec, int size, const SelectorTable& table);

// Algorithms that can carry `op`, best known first; empty for an unknown one.
absl::Span<const Algorithm> AlgorithmsFor(Operation op);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_COST_SELECTOR_H_
