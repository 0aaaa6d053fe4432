// SPDX-License-Identifier: Apache-2.0
#include "collective/cost/crossover.h"

#include <algorithm>
#include <bit>

namespace caravan::collective {
namespace {

constexpr int kOperations = static_cast<int>(Operation::kAllToAllV);
// Sizes from 64 bytes to 1 TiB are looked at. Below, the first row holds; above, the last.
constexpr int kLeastLog2 = 6;
constexpr int kMostLog2 = 40;
constexpr double kClearlyCheaper = 0.95;

class Cheapest {
 public:
  Cheapest(Operation op, const Rates& rates, int size, int chunk_log2)
      : op_(op), rates_(rates), size_(size), chunk_log2_(chunk_log2) {}

  Algorithm At(uint64_t bytes) const {
    const absl::Span<const Algorithm> known = AlgorithmsFor(op_);
    Algorithm best = known.front();
    double least = Time(best, bytes);
    for (const Algorithm algorithm : known.subspan(1)) {
      const double time = Time(algorithm, bytes);
      if (time >= kClearlyCheaper * least) continue;
      best = algorithm;
      least = time;
    }
    return best;
  }

  // The largest size up to which `algorithm`, right at `low`, may stay; it is not at `high`.
  uint64_t Limit(Algorithm algorithm, uint64_t low, uint64_t high) const {
    // Sixteenths of an octave.
    const uint64_t unit = std::max<uint64_t>(1, std::bit_floor(low) / 16);
    while (high - low > unit) {
      const uint64_t middle = low + (high - low) / 2 / unit * unit;
      if (middle == low) break;
      (At(middle) == algorithm ? low : high) = middle;
    }
    return low;
  }

 private:
  double Time(Algorithm algorithm, uint64_t bytes) const {
    return PriceOf(op_, algorithm, bytes, size_, rates_, chunk_log2_).total_ns;
  }

  const Operation op_;
  const Rates& rates_;
  const int size_;
  const int chunk_log2_;
};

}  // namespace

SelectorTable DeriveTable(const Rates& rates, int size, int chunk_log2) {
  SelectorTable table;
  for (int op = 1; op <= kOperations; ++op) {
    const Operation operation = static_cast<Operation>(op);
    if (AlgorithmsFor(operation).size() < 2) continue;
    const Cheapest cheapest(operation, rates, size, chunk_log2);
    uint64_t low = uint64_t{1} << kLeastLog2;
    Algorithm current = cheapest.At(low);
    for (int k = kLeastLog2 + 1; k <= kMostLog2; ++k) {
      const uint64_t high = uint64_t{1} << k;
      const Algorithm next = cheapest.At(high);
      if (next != current) {
        table.push_back({operation, cheapest.Limit(current, low, high), size, current});
        current = next;
      }
      low = high;
    }
    table.push_back({operation, UINT64_MAX, size, current});
  }
  return table;
}

SelectorTable DefaultSelectorTable() {
  static const auto* const table = new SelectorTable([] {
    SelectorTable rows;
    // Each step's rows serve the sizes down to the step before, the last step's any.
    constexpr int kSteps[] = {2,  3,  4,  6,   8,   12,  16,   24,
                              32, 48, 64, 128, 256, 512, 1024, kMaxSelectorRanks};
    for (const int size : kSteps) {
      for (SelectorRow row : DeriveTable(Rates{}, std::min(size, 4096))) {
        row.max_ranks = size;
        rows.push_back(row);
      }
    }
    return rows;
  }());
  return *table;
}

}  // namespace caravan::collective
