// SPDX-License-Identifier: Apache-2.0
//
// Reduce: the root alone gets the result. Direct: everyone seals for the root, which reduces in the
// order own, root + 1, root + 2, … Ring: a pipelined chain root + 1, root + 2, …, root with a key
// per hop, each adding what arrives to its own; the root opens m instead of (p − 1)·m.
//
// A chain has no circle: the root takes what comes, so the scratch before it becomes free.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

RecordName Record(const Blocks& vector, uint16_t source, uint16_t destination, uint32_t c) {
  return {source, destination, 0, c, vector.max_chunks(), vector.Bytes(0, c)};
}

}  // namespace

void DirectReduceToRoot(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const uint16_t root = builder.spec().root;
  const uint16_t own = builder.Neighbour(0);
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const Region input = {Place::kInput, vector.Offset(0, c)};
    const Region output = {Place::kOutput, vector.Offset(0, c)};
    if (own != root) {
      builder.Seal(Record(vector, own, root, c), input, {&root, 1});
      continue;
    }
    uint32_t previous = kNoStep;
    for (int k = 1; k < builder.size(); ++k) {
      const uint16_t source = builder.Neighbour(k);
      const uint32_t open =
          builder.OpenReduce(Record(vector, source, root, c), source, k == 1 ? input : output,
                             output, k == builder.size() - 1);
      builder.After(open, previous);
      previous = open;
    }
  }
}

void RingReduceToRoot(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const uint16_t root = builder.spec().root;
  const uint16_t own = builder.Neighbour(0);
  const uint16_t previous = builder.Neighbour(-1);
  const uint16_t next = builder.Neighbour(1);
  const bool first = previous == root;
  const uint32_t slots = std::min(kScratchChunks, vector.max_chunks());
  if (own != root && !first) builder.SetScratch(uint64_t{slots} * vector.Bytes(0, 0));
  std::vector<uint32_t> sealed;
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const Region input = {Place::kInput, vector.Offset(0, c)};
    if (own == root) {
      builder.OpenReduce(Record(vector, previous, own, c), previous, input,
                         {Place::kOutput, vector.Offset(0, c)}, true);
      continue;
    }
    if (first) {
      builder.Seal(Record(vector, own, next, c), input, {&next, 1});
      continue;
    }
    const Region partial = {Place::kScratch, uint64_t{c % slots} * vector.Bytes(0, 0)};
    const uint32_t open =
        builder.OpenReduce(Record(vector, previous, own, c), previous, input, partial, false);
    if (c >= slots) builder.After(open, sealed[c - slots]);
    sealed.push_back(builder.Seal(Record(vector, own, next, c), partial, {&next, 1}));
    builder.After(sealed.back(), open);
  }
}

}  // namespace caravan::collective
