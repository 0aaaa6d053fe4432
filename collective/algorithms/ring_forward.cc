// SPDX-License-Identifier: Apache-2.0
//
// All-gather around a ring with ciphertext forwarding: the owner seals a chunk once under its
// sender key; every rank opens it and sends the record on as it came.
//
// Forward slots are bounded, and full slots around a ring could wait for each other. So injection
// is bounded: a rank seals own chunk c only when it has opened chunk c − W of every other source
// (W = kRingWindow). Let source s have sealed up to chunk c. Every rank t ≠ s had sealed chunk
// c − W, hence opened chunk c − 2W of s, hence t's predecessor has forwarded it. So a rank holds at
// most 2W records of a source, of p − 2 sources (not its own, and not its successor's, which end
// here). With that many slots no record ever waits for one, and no lane waits in a circle.
// Chunk counts of two sources differ by one at most, which W ≥ 1 absorbs; a source without a chunk
// holds nothing back.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

class RingForwardGatherHalf : public GatherHalf {
 public:
  RingForwardGatherHalf(PlanBuilder& builder, const Blocks& blocks, const ReduceHalf* reduce,
                        uint16_t phase)
      : GatherHalf(builder, blocks, reduce, phase), opened_(blocks.total_chunks(), kNoStep) {
    const uint32_t held = std::min(2 * kRingWindow, blocks.max_chunks());
    builder_.SetForwardSlots(held * static_cast<uint32_t>(builder_.size() - 2));
  }

  void AddChunk(uint32_t c) override {
    const uint16_t own = builder_.Neighbour(0);
    const uint16_t next = builder_.Neighbour(1);
    if (c < blocks_.chunks(own)) {
      const uint32_t seal = builder_.Seal(Record(own, c), Own(c), {&next, 1});
      builder_.After(seal, OwnReady(c));
      AfterWindow(seal, c);
      CopyOwn(c);
    }
    for (int hop = 1; hop < builder_.size(); ++hop) {
      const uint16_t source = builder_.Neighbour(-hop);
      if (c >= blocks_.chunks(source)) continue;
      const uint32_t open =
          builder_.Open(Record(source, c), builder_.Neighbour(-1), Output(source, c));
      if (source != next) builder_.ForwardTo(open, {&next, 1});
      AfterContribution(open, source, c);
      opened_[blocks_.Index(source, c)] = open;
    }
  }

 private:
  RecordName Record(uint16_t source, uint32_t c) const {
    return {source, kEveryRank, phase_, c, blocks_.chunks(source), blocks_.Bytes(source, c)};
  }

  void AfterWindow(uint32_t seal, uint32_t c) {
    if (c < kRingWindow) return;
    for (int source = 0; source < blocks_.size(); ++source) {
      if (blocks_.chunks(source) == 0) continue;
      const uint32_t chunk = std::min(c - kRingWindow, blocks_.chunks(source) - 1);
      builder_.After(seal, opened_[blocks_.Index(source, chunk)]);
    }
  }

  std::vector<uint32_t> opened_;
};

}  // namespace

std::unique_ptr<GatherHalf> RingForwardGather(PlanBuilder& builder, const Blocks& blocks,
                                              const ReduceHalf* reduce, uint16_t phase) {
  return std::make_unique<RingForwardGatherHalf>(builder, blocks, reduce, phase);
}

}  // namespace caravan::collective
