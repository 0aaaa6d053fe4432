// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter and all-gather as halves that stand alone or make up an AllReduce. A half adds
// the steps of one chunk position at a time (chunk c of every block), so that a caller can
// interleave two halves: the order of steps is the order of sending. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_HALVES_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_HALVES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "collective/plan/partition.h"
#include "collective/plan/plan_builder.h"

namespace caravan::collective {

// Where a half keeps this rank's own block, and where partial results may live.
enum class Layout {
  kWhole,  // AllReduce: the output holds every block, partial results included
  kBlock,  // ReduceScatter: the output is the own block. AllGather: the input is the own block
};

class ReduceHalf {
 public:
  ReduceHalf(PlanBuilder& builder, const Blocks& blocks, Layout layout, uint16_t phase);
  virtual ~ReduceHalf() = default;

  // Adds the steps for chunk `c` of each block that has one.
  virtual void AddChunk(uint32_t c) = 0;

  // The step that completes own chunk `c`.
  uint32_t reduced(uint32_t c) const { return reduced_[c]; }
  // The step that reads this rank's contribution to a foreign block for the last time.
  uint32_t read(int block, uint32_t c) const { return read_[blocks_.Index(block, c)]; }

 protected:
  Region Input(int block, uint32_t c) const;
  // The chunk's place in the output; under Layout::kBlock for the own block only.
  Region Output(int block, uint32_t c) const;

  PlanBuilder& builder_;
  const Blocks& blocks_;
  const Layout layout_;
  const uint16_t phase_;
  std::vector<uint32_t> reduced_;
  std::vector<uint32_t> read_;
};

class GatherHalf {
 public:
  // `reduce` is the half before this one, or null when the own block is the input.
  GatherHalf(PlanBuilder& builder, const Blocks& blocks, const ReduceHalf* reduce, uint16_t phase);
  virtual ~GatherHalf() = default;

  virtual void AddChunk(uint32_t c) = 0;

 protected:
  // Where own chunk `c` is complete, and the step that completes it (kNoStep: from the start).
  Region Own(uint32_t c) const;
  uint32_t OwnReady(uint32_t c) const;
  Region Output(int block, uint32_t c) const;
  // A foreign chunk overwrites, in place, what this rank contributed to it. Honest peers finish
  // a chunk only after they have that contribution; a dishonest one must not be able to make this
  // rank seal something else, so the plan says it too.
  void AfterContribution(uint32_t open, int block, uint32_t c);
  void CopyOwn(uint32_t c);

  PlanBuilder& builder_;
  const Blocks& blocks_;
  const ReduceHalf* const reduce_;
  const uint16_t phase_;
};

// direct.cc: every rank seals for each owner; owners reduce in the order own, rank + 1, rank + 2 …
std::unique_ptr<ReduceHalf> DirectReduce(PlanBuilder& builder, const Blocks& blocks, Layout layout,
                                         uint16_t phase);
std::unique_ptr<GatherHalf> DirectGather(PlanBuilder& builder, const Blocks& blocks,
                                         const ReduceHalf* reduce, uint16_t phase);
// ring.cc: a key per hop; block b starts at rank b + 1 and ends at its owner b.
std::unique_ptr<ReduceHalf> RingReduce(PlanBuilder& builder, const Blocks& blocks, Layout layout,
                                       uint16_t phase);
std::unique_ptr<GatherHalf> RingGather(PlanBuilder& builder, const Blocks& blocks,
                                       const ReduceHalf* reduce, uint16_t phase);
// ring_forward.cc: sealed once by its owner, forwarded around the ring as it came.
std::unique_ptr<GatherHalf> RingForwardGather(PlanBuilder& builder, const Blocks& blocks,
                                              const ReduceHalf* reduce, uint16_t phase);

// doubling.cc: the same in ⌈log2 p⌉ rounds, down a binomial tree for each owner.
std::unique_ptr<GatherHalf> DoublingForwardGather(PlanBuilder& builder, const Blocks& blocks);

// Whole operations for two ranks or more, each in the file of its algorithm.
void ChainForwardBroadcast(PlanBuilder& builder);
void BinomialForwardBroadcast(PlanBuilder& builder);
void DirectBroadcast(PlanBuilder& builder);
void DirectBarrier(PlanBuilder& builder);
void SendRecv(PlanBuilder& builder);
void OneShotAllReduce(PlanBuilder& builder);
void DirectReduceToRoot(PlanBuilder& builder);
void RingReduceToRoot(PlanBuilder& builder);
void DirectGatherToRoot(PlanBuilder& builder);
void DirectScatterFromRoot(PlanBuilder& builder);
// `sent` and `received` have a block a rank.
void DirectAllToAll(PlanBuilder& builder, const Blocks& sent, const Blocks& received);
void BruckForwardAllToAll(PlanBuilder& builder);

// How many chunks of a source may circulate before every other source has caught up: a ring holds
// chunk c back until chunk c − kRingWindow of all others has passed here. One would keep every
// link busy in lockstep; two hide the jitter of one round behind the next.
inline constexpr uint32_t kRingWindow = 2;
// Forward slots of a class where no circle can form, so that any number is enough: a few keep
// several lanes moving.
inline constexpr uint32_t kTreeSlots = 8;
// Chunks of partial results in scratch where, again, any number is enough.
inline constexpr uint32_t kScratchChunks = 4;

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_HALVES_H_
