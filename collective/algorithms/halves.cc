// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/halves.h"

namespace caravan::collective {

ReduceHalf::ReduceHalf(PlanBuilder& builder, const Blocks& blocks, Layout layout, uint16_t phase)
    : builder_(builder),
      blocks_(blocks),
      layout_(layout),
      phase_(phase),
      reduced_(blocks.chunks(builder.rank()), kNoStep),
      read_(blocks.total_chunks(), kNoStep) {}

Region ReduceHalf::Input(int block, uint32_t c) const {
  return {Place::kInput, blocks_.Offset(block, c)};
}

Region ReduceHalf::Output(int block, uint32_t c) const {
  return {Place::kOutput,
          layout_ == Layout::kWhole ? blocks_.Offset(block, c) : blocks_.OffsetInBlock(c)};
}

GatherHalf::GatherHalf(PlanBuilder& builder, const Blocks& blocks, const ReduceHalf* reduce,
                       uint16_t phase)
    : builder_(builder), blocks_(blocks), reduce_(reduce), phase_(phase) {}

Region GatherHalf::Own(uint32_t c) const {
  if (reduce_ == nullptr) return {Place::kInput, blocks_.OffsetInBlock(c)};
  return Output(builder_.rank(), c);
}

uint32_t GatherHalf::OwnReady(uint32_t c) const {
  return reduce_ == nullptr ? kNoStep : reduce_->reduced(c);
}

Region GatherHalf::Output(int block, uint32_t c) const {
  return {Place::kOutput, blocks_.Offset(block, c)};
}

void GatherHalf::AfterContribution(uint32_t open, int block, uint32_t c) {
  if (reduce_ != nullptr) builder_.After(open, reduce_->read(block, c));
}

void GatherHalf::CopyOwn(uint32_t c) {
  if (reduce_ != nullptr) return;
  const int own = builder_.rank();
  builder_.Local(blocks_.Bytes(own, c), Own(c), Output(own, c));
}

}  // namespace caravan::collective
