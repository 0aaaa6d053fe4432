// SPDX-License-Identifier: Apache-2.0
//
// Broadcast down a binomial tree: sealed once by the root under its sender key, opened by everyone,
// forwarded as it came. A tree has no circle: leaves always take what comes, so their parents'
// slots become free, and so on up. Any number of slots works.
#include <algorithm>

#include "collective/algorithms/halves.h"
#include "collective/algorithms/tree.h"

namespace caravan::collective {

void BinomialForwardBroadcast(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const uint16_t root = builder.spec().root;
  const int distance = (builder.rank() - root + builder.size()) % builder.size();
  const std::vector<uint16_t> children = TreeChildren(builder, distance);
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const RecordName record = {root, kEveryRank, 0, c, vector.max_chunks(), vector.Bytes(0, c)};
    const uint64_t offset = vector.Offset(0, c);
    if (distance == 0) {
      builder.Seal(record, {Place::kInput, offset}, children);
      builder.Local(record.bytes, {Place::kInput, offset}, {Place::kOutput, offset});
      continue;
    }
    const uint16_t parent = builder.Neighbour(TreeParent(distance) - distance);
    const uint32_t open = builder.Open(record, parent, {Place::kOutput, offset});
    if (!children.empty()) builder.ForwardTo(open, children);
  }
  if (distance != 0 && !children.empty()) {
    builder.SetForwardSlots(std::min(kTreeSlots, vector.max_chunks()));
  }
}

}  // namespace caravan::collective
