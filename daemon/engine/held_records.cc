// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/held_records.h"

#include <cstring>

namespace caravan::engine {
namespace {

// Records for several peers that may be on their way at once.
constexpr uint32_t kSharedBuffers = 8;

}  // namespace

HeldRecords::HeldRecords(size_t record_size)
    : pool_(record_size), shared_(kSharedBuffers), forwards_(0) {}

bool HeldRecords::MayShare(const Operation& operation, uint32_t step, bool oldest) const {
  const StepInfo& info = operation.program->info(step);
  if (info.shared == kNone || operation.shared[info.shared] != nullptr) return true;
  return shared_.Allows(oldest);
}

WireBuffer* HeldRecords::Share(Operation& operation, uint32_t step) {
  const StepInfo& info = operation.program->info(step);
  WireBuffer* buffer = pool_.Take();
  shared_.Take();
  operation.shared[info.shared] = buffer;
  buffer->users = info.send_count;
  return buffer;
}

bool HeldRecords::MayHold(const Operation& operation, uint32_t step, bool oldest) const {
  if (operation.program->info(step).forward == kNone) return true;
  const collective::Plan& plan = operation.plan();
  return operation.forwards_held[plan.steps[step].slot_class] < plan.class_slots &&
         forwards_.Allows(oldest);
}

void HeldRecords::Hold(Operation& operation, uint32_t step, Lane& lane,
                       absl::Span<const uint8_t> record) {
  const StepInfo& info = operation.program->info(step);
  WireBuffer* slot = pool_.Take();
  if (!lane.SwapReceived(record.size(), slot)) {
    std::memcpy(slot->data.get(), record.data(), record.size());
  }
  slot->users = info.send_count;
  slot->fill = static_cast<uint32_t>(record.size());
  operation.forwards[info.forward] = slot;
  ++operation.forwards_held[operation.plan().steps[step].slot_class];
  forwards_.Take();
}

bool HeldRecords::Sent(const Segment& segment) {
  WireBuffer* buffer = segment.buffer;
  if (--buffer->users > 0) return false;
  Operation& operation = *segment.operation;
  const StepInfo& info = operation.program->info(segment.step);
  if (segment.owner == Segment::Owner::kShared) {
    operation.shared[info.shared] = nullptr;
    shared_.Put();
  } else {
    operation.forwards[info.forward] = nullptr;
    --operation.forwards_held[operation.plan().steps[segment.step].slot_class];
    forwards_.Put();
  }
  pool_.Put(buffer);
  return true;
}

}  // namespace caravan::engine
