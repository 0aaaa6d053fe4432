// SPDX-License-Identifier: Apache-2.0
//
// All-gather by recursive doubling with ciphertext forwarding, in Bruck's form, which takes any
// number of ranks: in round k each rank hands the rank 2^k places on what it has and that one
// lacks. A chunk of one owner so runs down a binomial tree whose root is the owner: sealed once
// under the sender key, opened by everyone, forwarded as it came. Blocks may differ in length.
//
// Why it cannot lock up. A record that came in round k is held in a slot of class k, and waits only
// for lanes of later rounds. The lane from a rank to the one 2^k places on carries records of round
// k and no others, so its head waits, if at all, for a slot of class k over there. Lanes of the
// last round always drain, since nothing of that round is held; hence slots of the class before
// become free, hence the lanes of that round drain, and so on down to round 0. One slot a class
// would do.
#include <algorithm>

#include "collective/algorithms/halves.h"
#include "collective/algorithms/tree.h"
#include "collective/cost/cost.h"

namespace caravan::collective {
namespace {

class DoublingForwardGatherHalf : public GatherHalf {
 public:
  DoublingForwardGatherHalf(PlanBuilder& builder, const Blocks& blocks)
      : GatherHalf(builder, blocks, nullptr, 0) {
    const uint32_t rounds = RoundsOfDoubling(builder.size());
    if (rounds > 1) builder_.SetForwardSlots(kTreeSlots, rounds - 1);
  }

  void AddChunk(uint32_t c) override {
    const int own = builder_.rank();
    if (c < blocks_.chunks(own)) {
      builder_.Seal(Record(builder_.Neighbour(0), c), Own(c), TreeChildren(builder_, 0));
      CopyOwn(c);
    }
    for (int distance = 1; distance < builder_.size(); ++distance) {
      const uint16_t source = builder_.Neighbour(-distance);
      if (c >= blocks_.chunks(source)) continue;
      const uint16_t via = builder_.Neighbour(TreeParent(distance) - distance);
      const uint32_t open = builder_.Open(Record(source, c), via, Output(source, c));
      const std::vector<uint16_t> children = TreeChildren(builder_, distance);
      if (!children.empty()) builder_.ForwardTo(open, children, TreeRound(distance));
    }
  }

 private:
  RecordName Record(uint16_t source, uint32_t c) const {
    return {source, kEveryRank, phase_, c, blocks_.chunks(source), blocks_.Bytes(source, c)};
  }
};

}  // namespace

std::unique_ptr<GatherHalf> DoublingForwardGather(PlanBuilder& builder, const Blocks& blocks) {
  return std::make_unique<DoublingForwardGatherHalf>(builder, blocks);
}

}  // namespace caravan::collective
