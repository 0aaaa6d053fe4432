// SPDX-License-Identifier: Apache-2.0
//
// The binomial tree that records are forwarded along: node d is d places after the root. Round k
// doubles the nodes that have the record, from the first 2^k to the first 2^(k+1): so d has it from
// d minus its highest bit and hands it to d + 2^k in every later round. Any number of nodes; the
// tree is only cut off at the end. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_TREE_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_TREE_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "collective/plan/plan_builder.h"

namespace caravan::collective {

// The round in which node `distance` ≥ 1 gets the record.
inline int TreeRound(int distance) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(distance))) - 1;
}

inline int TreeParent(int distance) { return distance - (1 << TreeRound(distance)); }

// The ranks that this rank, as node `distance`, hands the record to: the deepest subtree first.
inline std::vector<uint16_t> TreeChildren(const PlanBuilder& builder, int distance) {
  std::vector<uint16_t> children;
  for (int step = distance == 0 ? 1 : 2 << TreeRound(distance); distance + step < builder.size();
       step *= 2) {
    children.push_back(builder.Neighbour(step));
  }
  return children;
}

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_TREE_H_
