// SPDX-License-Identifier: Apache-2.0
//
// From rates to a selector table: at which sizes another algorithm becomes the cheapest.
#ifndef CARAVAN_COLLECTIVE_COST_CROSSOVER_H_
#define CARAVAN_COLLECTIVE_COST_CROSSOVER_H_

#include "collective/cost/cost.h"
#include "collective/cost/selector.h"

namespace caravan::collective {

// For communicators of exactly `size` ranks (2 to 65534): rows for every operation that more than
// one algorithm can carry, by size, the last one for any. An algorithm that is better known
// (AlgorithmsFor) stays while the other is not more than a few per cent cheaper. Limits are
// rounded, so that rates which differ little give the same table.
SelectorTable DeriveTable(const Rates& rates, int size, int chunk_log2 = 17);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_COST_CROSSOVER_H_
