// SPDX-License-Identifier: Apache-2.0
//
// What an algorithm costs in time that no bandwidth buys back: records one after another, and
// seals and opens among them.
#ifndef CARAVAN_COLLECTIVE_COST_H_
#define CARAVAN_COLLECTIVE_COST_H_

#include <cstdint>

#include "collective/types.h"

namespace caravan::collective {

struct Cost {
  uint32_t rounds = 0;        // records one after another on the longest path over all ranks
  uint32_t crypto_depth = 0;  // seal/open stages on it
};

// For `size` ranks (1 to 65534). One rank alone costs nothing.
Cost CostOf(Operation op, Algorithm algorithm, int size);

// ⌈log2 size⌉: the rounds of trees and of Bruck's algorithm.
uint32_t RoundsOfDoubling(int size);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_COST_H_
