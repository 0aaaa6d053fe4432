// SPDX-License-Identifier: Apache-2.0
//
// Every rank talks to every rank. Peers are visited in the order rank + 1, rank + 2, …, so that
// no rank is everyone's first target.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

class DirectReduceHalf : public ReduceHalf {
 public:
  using ReduceHalf::ReduceHalf;

  void AddChunk(uint32_t c) override {
    const uint16_t own = builder_.Neighbour(0);
    for (int k = 1; k < builder_.size(); ++k) {
      const uint16_t owner = builder_.Neighbour(k);
      if (c >= blocks_.chunks(owner)) continue;
      read_[blocks_.Index(owner, c)] =
          builder_.Seal(Record(own, owner, c), Input(owner, c), {&owner, 1});
    }
    if (c >= blocks_.chunks(own)) return;
    // A chain of dependencies: the sum must not depend on who comes first.
    uint32_t previous = kNoStep;
    for (int k = 1; k < builder_.size(); ++k) {
      const uint16_t source = builder_.Neighbour(k);
      const Region left = k == 1 ? Input(own, c) : Output(own, c);
      const uint32_t open = builder_.OpenReduce(Record(source, own, c), source, left,
                                                Output(own, c), k == builder_.size() - 1);
      builder_.After(open, previous);
      previous = open;
    }
    reduced_[c] = previous;
  }

 private:
  RecordName Record(uint16_t source, uint16_t owner, uint32_t c) const {
    return {source, owner, phase_, c, blocks_.chunks(owner), blocks_.Bytes(owner, c)};
  }
};

class DirectGatherHalf : public GatherHalf {
 public:
  DirectGatherHalf(PlanBuilder& builder, const Blocks& blocks, const ReduceHalf* reduce,
                   uint16_t phase)
      : GatherHalf(builder, blocks, reduce, phase), others_(builder.EveryOther()) {}

  void AddChunk(uint32_t c) override {
    const uint16_t own = builder_.Neighbour(0);
    if (c < blocks_.chunks(own)) {
      builder_.After(builder_.Seal(Record(own, c), Own(c), others_), OwnReady(c));
      CopyOwn(c);
    }
    for (int k = 1; k < builder_.size(); ++k) {
      const uint16_t source = builder_.Neighbour(-k);
      if (c >= blocks_.chunks(source)) continue;
      AfterContribution(builder_.Open(Record(source, c), source, Output(source, c)), source, c);
    }
  }

 private:
  RecordName Record(uint16_t source, uint32_t c) const {
    return {source, kEveryRank, phase_, c, blocks_.chunks(source), blocks_.Bytes(source, c)};
  }

  const std::vector<uint16_t> others_;
};

}  // namespace

std::unique_ptr<ReduceHalf> DirectReduce(PlanBuilder& builder, const Blocks& blocks, Layout layout,
                                         uint16_t phase) {
  return std::make_unique<DirectReduceHalf>(builder, blocks, layout, phase);
}

std::unique_ptr<GatherHalf> DirectGather(PlanBuilder& builder, const Blocks& blocks,
                                         const ReduceHalf* reduce, uint16_t phase) {
  return std::make_unique<DirectGatherHalf>(builder, blocks, reduce, phase);
}

void DirectBroadcast(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const uint16_t root = builder.spec().root;
  const std::vector<uint16_t> others = builder.EveryOther();
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const RecordName record = {root, kEveryRank, 0, c, vector.max_chunks(), vector.Bytes(0, c)};
    const uint64_t offset = vector.Offset(0, c);
    if (builder.rank() == root) {
      builder.Seal(record, {Place::kInput, offset}, others);
      builder.Local(record.bytes, {Place::kInput, offset}, {Place::kOutput, offset});
    } else {
      builder.Open(record, root, {Place::kOutput, offset});
    }
  }
}

void DirectBarrier(PlanBuilder& builder) {
  const uint16_t own = builder.Neighbour(0);
  for (const uint16_t peer : builder.EveryOther()) {
    builder.Seal({.source = own, .destination = peer}, {Place::kInput, 0}, {&peer, 1});
  }
  for (const uint16_t peer : builder.EveryOther()) {
    builder.Open({.source = peer, .destination = own}, peer, {Place::kOutput, 0});
  }
}

}  // namespace caravan::collective
