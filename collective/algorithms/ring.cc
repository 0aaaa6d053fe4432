// SPDX-License-Identifier: Apache-2.0
//
// The ring with a key per hop. A hop's stream carries blocks of many owners, so its chunks are
// numbered by their position in the whole vector: one stream, and few keys, for all hops.
#include <algorithm>

#include "collective/algorithms/halves.h"

namespace caravan::collective {
namespace {

RecordName HopRecord(const Blocks& blocks, uint16_t source, uint16_t destination, uint16_t phase,
                     int block, uint32_t c) {
  return {source,
          destination,
          phase,
          blocks.Index(block, c),
          blocks.total_chunks(),
          blocks.Bytes(block, c)};
}

// Block b is read first at rank b + 1, grows by one contribution a hop, and is complete at b.
// Under Layout::kBlock partial results live in scratch slots for 2·kRingWindow chunk positions.
// A rank injects chunk c only when chunk c − kRingWindow of all blocks that come through here has
// been opened here. Then every rank has opened chunk c − 2·kRingWindow of the injected block, so
// the slot is free when the record arrives, no lane waits for it, and the ring can't lock up.
class RingReduceHalf : public ReduceHalf {
 public:
  RingReduceHalf(PlanBuilder& builder, const Blocks& blocks, Layout layout, uint16_t phase)
      : ReduceHalf(builder, blocks, layout, phase),
        slots_(std::min(2 * kRingWindow, blocks.max_chunks())),
        opened_(layout == Layout::kBlock ? blocks.total_chunks() : 0, kNoStep) {
    if (layout_ == Layout::kBlock && slots_ > 0) {
      slot_bytes_ = blocks.Bytes(0, 0);
      builder_.SetScratch(uint64_t{slots_} * (builder_.size() - 2) * slot_bytes_);
    }
  }

  void AddChunk(uint32_t c) override {
    const uint16_t own = builder_.Neighbour(0);
    const uint16_t previous = builder_.Neighbour(-1);
    const uint16_t next = builder_.Neighbour(1);
    // `hop`: how many ranks have contributed to the block before this one.
    for (int hop = 0; hop < builder_.size(); ++hop) {
      const uint16_t block = builder_.Neighbour(-1 - hop);
      if (c >= blocks_.chunks(block)) continue;
      Region partial = Input(block, c);
      uint32_t open = kNoStep;
      if (hop > 0) {
        partial = block == own || layout_ == Layout::kWhole ? Output(block, c) : Slot(hop, c);
        open = builder_.OpenReduce(HopRecord(blocks_, previous, own, phase_, block, c), previous,
                                   Input(block, c), partial, block == own);
        if (partial.place == Place::kScratch && c >= slots_) {
          builder_.After(open, read(block, c - slots_));
        }
        if (layout_ == Layout::kBlock) opened_[blocks_.Index(block, c)] = open;
      }
      if (block == own) {
        reduced_[c] = open;
        continue;
      }
      const uint32_t seal =
          builder_.Seal(HopRecord(blocks_, own, next, phase_, block, c), partial, {&next, 1});
      builder_.After(seal, open);
      if (hop == 0) AfterWindow(seal, c);
      read_[blocks_.Index(block, c)] = seal;
    }
  }

 private:
  Region Slot(int hop, uint32_t c) const {
    const uint64_t slot = uint64_t{c % slots_} * (builder_.size() - 2) + (hop - 1);
    return {Place::kScratch, slot * slot_bytes_};
  }

  void AfterWindow(uint32_t seal, uint32_t c) {
    if (layout_ == Layout::kWhole || c < kRingWindow) return;
    for (int block = 0; block < blocks_.size(); ++block) {
      builder_.After(seal, opened_[blocks_.Index(block, c - kRingWindow)]);
    }
  }

  const uint32_t slots_;  // a hop
  uint64_t slot_bytes_ = 0;
  std::vector<uint32_t> opened_;
};

// What TLS links would do: each rank opens every chunk and seals it again for the next.
class RingGatherHalf : public GatherHalf {
 public:
  using GatherHalf::GatherHalf;

  void AddChunk(uint32_t c) override {
    const uint16_t own = builder_.Neighbour(0);
    const uint16_t previous = builder_.Neighbour(-1);
    const uint16_t next = builder_.Neighbour(1);
    if (c < blocks_.chunks(own)) {
      builder_.After(
          builder_.Seal(HopRecord(blocks_, own, next, phase_, own, c), Own(c), {&next, 1}),
          OwnReady(c));
      CopyOwn(c);
    }
    for (int hop = 1; hop < builder_.size(); ++hop) {
      const uint16_t block = builder_.Neighbour(-hop);
      if (c >= blocks_.chunks(block)) continue;
      const uint32_t open = builder_.Open(HopRecord(blocks_, previous, own, phase_, block, c),
                                          previous, Output(block, c));
      AfterContribution(open, block, c);
      if (block == next) continue;
      builder_.After(builder_.Seal(HopRecord(blocks_, own, next, phase_, block, c),
                                   Output(block, c), {&next, 1}),
                     open);
    }
  }
};

}  // namespace

std::unique_ptr<ReduceHalf> RingReduce(PlanBuilder& builder, const Blocks& blocks, Layout layout,
                                       uint16_t phase) {
  return std::make_unique<RingReduceHalf>(builder, blocks, layout, phase);
}

std::unique_ptr<GatherHalf> RingGather(PlanBuilder& builder, const Blocks& blocks,
                                       const ReduceHalf* reduce, uint16_t phase) {
  return std::make_unique<RingGatherHalf>(builder, blocks, reduce, phase);
}

}  // namespace caravan::collective
