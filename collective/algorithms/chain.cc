// SPDX-License-Identifier: Apache-2.0
//
// Broadcast down a chain root, root + 1, …: sealed once by the root, forwarded as it came.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {

void ChainForwardBroadcast(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const uint16_t root = builder.spec().root;
  const uint16_t previous = builder.Neighbour(-1);
  const uint16_t next = builder.Neighbour(1);
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const RecordName record = {root, kEveryRank, 0, c, vector.max_chunks(), vector.Bytes(0, c)};
    const uint64_t offset = vector.Offset(0, c);
    if (builder.rank() == root) {
      builder.Seal(record, {Place::kInput, offset}, {&next, 1});
      builder.Local(record.bytes, {Place::kInput, offset}, {Place::kOutput, offset});
    } else {
      const uint32_t open = builder.Open(record, previous, {Place::kOutput, offset});
      if (next != root) builder.ForwardTo(open, {&next, 1});
    }
  }
  if (builder.rank() != root && next != root) {
    builder.SetForwardSlots(std::min(kTreeSlots, vector.max_chunks()));
  }
}

}  // namespace caravan::collective
