// SPDX-License-Identifier: Apache-2.0
//
// AllReduce in one round, for small vectors: every rank seals its whole vector once under its
// sender key, everyone opens all. All ranks reduce in the order of ranks 0, 1, 2, …, so that they
// get the same bits: what comes before the own vector's turn is summed in scratch.
//
// Scratch holds kScratchChunks chunks. Chunk c of rank 0 waits until chunk c − kScratchChunks is
// summed up here, which needs nothing later than that chunk from anybody: the lowest chunk that is
// not complete everywhere always goes on.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

class OneShot {
 public:
  explicit OneShot(PlanBuilder& builder)
      : builder_(builder),
        vector_(Blocks::Uniform(builder.spec(), 1)),
        others_(builder.EveryOther()),
        slots_(std::min(kScratchChunks, vector_.max_chunks())) {
    if (builder.rank() > 0) builder.SetScratch(uint64_t{slots_} * vector_.Bytes(0, 0));
  }

  void AddChunk(uint32_t c) {
    const int own = builder_.rank();
    const int last = builder_.size() - 1;
    const uint32_t bytes = vector_.Bytes(0, c);
    const Region input = {Place::kInput, vector_.Offset(0, c)};
    const Region output = {Place::kOutput, vector_.Offset(0, c)};
    const Region before = {Place::kScratch, uint64_t{c % slots_} * vector_.Bytes(0, 0)};
    const uint32_t seal = builder_.Seal(Record(own, c), input, others_);
    uint32_t previous = seal;
    if (own > 0) {
      const uint32_t copy = builder_.Local(bytes, input, output);
      for (int source = 0; source < own; ++source) {
        const auto via = static_cast<uint16_t>(source);
        const uint32_t open =
            source == 0 ? builder_.Open(Record(source, c), via, before)
                        : builder_.OpenReduce(Record(source, c), via, before, before, false);
        builder_.After(open, source > 0 ? previous : c < slots_ ? kNoStep : joined_[c - slots_]);
        previous = open;
      }
      const uint32_t join = builder_.LocalReduce(bytes, before, output, own == last);
      builder_.After(join, previous);
      builder_.After(join, copy);
      builder_.After(join, seal);  // in place the output is what the seal reads
      joined_.push_back(join);
      previous = join;
    }
    for (int source = own + 1; source <= last; ++source) {
      const Region left = source == 1 ? input : output;
      const uint32_t open = builder_.OpenReduce(Record(source, c), static_cast<uint16_t>(source),
                                                left, output, source == last);
      builder_.After(open, previous);
      previous = open;
    }
  }

  uint32_t chunks() const { return vector_.max_chunks(); }

 private:
  RecordName Record(int source, uint32_t c) const {
    return {static_cast<uint16_t>(source), kEveryRank,         0, c,
            vector_.max_chunks(),          vector_.Bytes(0, c)};
  }

  PlanBuilder& builder_;
  const Blocks vector_;
  const std::vector<uint16_t> others_;
  const uint32_t slots_;
  std::vector<uint32_t> joined_;  // by chunk: the step that frees its scratch
};

}  // namespace

void OneShotAllReduce(PlanBuilder& builder) {
  OneShot one_shot(builder);
  for (uint32_t c = 0; c < one_shot.chunks(); ++c) one_shot.AddChunk(c);
}

}  // namespace caravan::collective
