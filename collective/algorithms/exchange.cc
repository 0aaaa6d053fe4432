// SPDX-License-Identifier: Apache-2.0
//
// Blocks that go from one rank to one other, under the pair's key: Gather, Scatter, AllToAll and
// AllToAllV. No step waits for another, so no lane does.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

RecordName Record(uint16_t source, uint16_t destination, const Blocks& blocks, int block,
                  uint32_t c) {
  return {source, destination, 0, c, blocks.chunks(block), blocks.Bytes(block, c)};
}

// The root's end of Gather and Scatter knows a block a rank, the other end its own alone.
Blocks BlocksAtThisEnd(const PlanBuilder& builder) {
  const bool at_root = builder.rank() == builder.spec().root;
  return Blocks::Uniform(builder.spec(), at_root ? builder.size() : 1);
}

}  // namespace

void DirectGatherToRoot(PlanBuilder& builder) {
  const Blocks blocks = BlocksAtThisEnd(builder);
  const uint16_t root = builder.spec().root;
  const uint16_t own = builder.Neighbour(0);
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) {
    const Region input = {Place::kInput, blocks.OffsetInBlock(c)};
    if (own != root) {
      builder.Seal(Record(own, root, blocks, 0, c), input, {&root, 1});
      continue;
    }
    builder.Local(blocks.Bytes(root, c), input, {Place::kOutput, blocks.Offset(root, c)});
    for (int k = 1; k < builder.size(); ++k) {
      const uint16_t source = builder.Neighbour(k);
      builder.Open(Record(source, root, blocks, source, c), source,
                   {Place::kOutput, blocks.Offset(source, c)});
    }
  }
}

void DirectScatterFromRoot(PlanBuilder& builder) {
  const Blocks blocks = BlocksAtThisEnd(builder);
  const uint16_t root = builder.spec().root;
  const uint16_t own = builder.Neighbour(0);
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) {
    const Region output = {Place::kOutput, blocks.OffsetInBlock(c)};
    if (own != root) {
      builder.Open(Record(root, own, blocks, 0, c), root, output);
      continue;
    }
    for (int k = 1; k < builder.size(); ++k) {
      const uint16_t destination = builder.Neighbour(k);
      builder.Seal(Record(root, destination, blocks, destination, c),
                   {Place::kInput, blocks.Offset(destination, c)}, {&destination, 1});
    }
    builder.Local(blocks.Bytes(root, c), {Place::kInput, blocks.Offset(root, c)}, output);
  }
}

void DirectAllToAll(PlanBuilder& builder, const Blocks& sent, const Blocks& received) {
  const uint16_t own = builder.Neighbour(0);
  for (uint32_t c = 0; c < std::max(sent.max_chunks(), received.max_chunks()); ++c) {
    for (int k = 1; k < builder.size(); ++k) {
      const uint16_t destination = builder.Neighbour(k);
      if (c >= sent.chunks(destination)) continue;
      builder.Seal(Record(own, destination, sent, destination, c),
                   {Place::kInput, sent.Offset(destination, c)}, {&destination, 1});
    }
    if (c < sent.chunks(own)) {
      builder.Local(sent.Bytes(own, c), {Place::kInput, sent.Offset(own, c)},
                    {Place::kOutput, received.Offset(own, c)});
    }
    for (int k = 1; k < builder.size(); ++k) {
      const uint16_t source = builder.Neighbour(-k);
      if (c >= received.chunks(source)) continue;
      builder.Open(Record(source, own, received, source, c), source,
                   {Place::kOutput, received.Offset(source, c)});
    }
  }
}

}  // namespace caravan::collective
