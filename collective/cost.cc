// SPDX-License-Identifier: Apache-2.0
#include "collective/cost.h"

#include <bit>

namespace caravan::collective {

uint32_t RoundsOfDoubling(int size) {
  return size < 2 ? 0 : static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(size - 1)));
}

Cost CostOf(Operation op, Algorithm algorithm, int size) {
  if (size < 2) return {};
  const uint32_t hops = static_cast<uint32_t>(size - 1);
  const bool both_halves = op == Operation::kAllReduce;
  switch (algorithm) {
    case Algorithm::kDirect:
      return both_halves ? Cost{2, 2} : Cost{1, 1};
    case Algorithm::kRing:
      return both_halves ? Cost{2 * hops, 2 * hops} : Cost{hops, hops};
    case Algorithm::kRingForward:
      return both_halves ? Cost{2 * hops, hops + 1} : Cost{hops, 1};
    case Algorithm::kChainForward:
      return {hops, 1};
    case Algorithm::kOneShot:
      return {1, 1};
    case Algorithm::kDoublingForward:
    case Algorithm::kBinomialForward:
    case Algorithm::kBruckForward:
      return {RoundsOfDoubling(size), 1};
    case Algorithm::kAuto:
      break;
  }
  return {};
}

}  // namespace caravan::collective
