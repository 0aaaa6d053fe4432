// SPDX-License-Identifier: Apache-2.0
#include "collective/islands/rail.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

bool ReadsInput(const Step& step) {
  const bool reads = step.kind == StepKind::kSeal || step.kind == StepKind::kLocal || step.reduce;
  return reads && step.read.place == Place::kInput && step.bytes > 0;
}

bool WritesOutput(const Step& step) {
  const bool writes = step.kind == StepKind::kOpen || step.kind == StepKind::kLocal;
  return writes && step.write.place == Place::kOutput && step.bytes > 0;
}

// The stretch that holds all of [offset, offset + bytes), or null.
const Stretch* Find(const std::vector<Stretch>& stretches, uint64_t offset, uint32_t bytes) {
  for (const Stretch& s : stretches) {
    if (offset >= s.begin && offset + bytes <= s.begin + s.bytes) return &s;
  }
  return nullptr;
}

Region In(const Stretch& s, uint64_t offset, Place place) {
  return {place, s.offset + (offset - s.begin), s.local};
}

absl::Status Nowhere(uint64_t offset, uint32_t bytes) {
  return absl::InternalError(
      absl::StrCat("a rail's ", bytes, " bytes at ", offset, " lie in no rank's memory"));
}

}  // namespace

RailMerger::RailMerger(PlanBuilder& builder, int local, uint32_t slots)
    : builder_(builder),
      local_(local),
      chunk_(uint64_t{1} << builder.spec().chunk_log2),
      slot_freed_by_(slots, kNoStep),
      scratch_(slots * chunk_) {}

absl::Status RailMerger::Add(const Plan& rail, const RailMemory& memory, uint16_t first_phase) {
  rail_ = &rail;
  memory_ = &memory;
  first_phase_ = first_phase;
  new_index_.clear();
  last_reader_.clear();
  last_writer_.clear();
  prepared_.clear();
  FindLast();
  for (uint32_t i = 0; i < rail.steps.size(); ++i) {
    if (absl::Status status = AddStep(i); !status.ok()) return status;
  }
  for (uint32_t i = 0; i < rail.steps.size(); ++i) {
    const Step& step = rail.steps[i];
    for (uint32_t d = 0; d < step.dependent_count; ++d) {
      builder_.After(new_index_[rail.dependents[step.first_dependent + d]], new_index_[i]);
    }
  }
  scratch_ += rail.scratch_bytes;
  class_slots_ = std::max(class_slots_, rail.class_slots);
  if (rail.class_slots > 0) classes_ += rail.slot_classes;
  return absl::OkStatus();
}

void RailMerger::Finish() {
  builder_.SetScratch(scratch_);
  builder_.SetForwardSlots(class_slots_, std::max<uint32_t>(classes_, 1));
}

void RailMerger::FindLast() {
  for (uint32_t i = 0; i < rail_->steps.size(); ++i) {
    const Step& step = rail_->steps[i];
    if (ReadsInput(step)) last_reader_[step.read.offset] = i;
    if (WritesOutput(step)) last_writer_[step.write.offset] = i;
  }
}

uint32_t RailMerger::InOrder(uint32_t step) {
  builder_.After(step, last_local_);
  return last_local_ = step;
}

absl::StatusOr<RailMerger::Prepared> RailMerger::Gather(const Step& step) {
  const uint64_t offset = step.read.offset;
  const Stretch* home = Find(memory_->home, offset, step.bytes);
  if (home == nullptr) return Nowhere(offset, step.bytes);
  Prepared prepared{In(*home, offset, Place::kOutput)};
  for (const Stretch& s : memory_->input) {
    const uint64_t begin = std::max(s.begin, offset);
    const uint64_t end = std::min(s.begin + s.bytes, offset + step.bytes);
    if (begin >= end) continue;
    prepared.done =
        InOrder(builder_.Local(static_cast<uint32_t>(end - begin), In(s, begin, Place::kInput),
                               In(*home, begin, Place::kOutput)));
  }
  return prepared;
}

absl::StatusOr<RailMerger::Prepared> RailMerger::Reduce(const Step& step) {
  const uint64_t offset = step.read.offset;
  const Stretch* from = Find(memory_->input, offset, step.bytes);
  if (from == nullptr) return Nowhere(offset, step.bytes);
  const Stretch* home = Find(memory_->home, offset, step.bytes);
  Prepared prepared;
  uint32_t free = kNoStep;
  if (home != nullptr) {
    prepared.region = In(*home, offset, Place::kOutput);
  } else if (!slot_freed_by_.empty()) {
    prepared.slot = static_cast<int>(next_slot_++ % slot_freed_by_.size());
    prepared.region = {Place::kScratch, static_cast<uint64_t>(prepared.slot) * chunk_};
    free = std::exchange(slot_freed_by_[prepared.slot], kNoStep);
  } else {
    return Nowhere(offset, step.bytes);
  }
  // In place, the first input is where the sum goes.
  const int first = home != nullptr ? home->local : 0;
  const uint64_t at = from->offset + (offset - from->begin);
  const auto input = [at](int local) {
    return Region(Place::kInput, at, static_cast<uint16_t>(local));
  };
  const uint32_t copy = InOrder(builder_.Local(step.bytes, input(first), prepared.region));
  builder_.After(copy, free);
  prepared.done = copy;
  int left = local_ - 1;
  for (int k = 0; k < local_; ++k) {
    if (k == first) continue;
    --left;
    // With one node nobody else adds anything.
    const bool last = rail_->size == 1 && left == 0;
    prepared.done = InOrder(builder_.LocalReduce(step.bytes, input(k), prepared.region, last));
  }
  return prepared;
}

absl::StatusOr<RailMerger::Prepared> RailMerger::Read(const Step& step) {
  const uint64_t offset = step.read.offset;
  if (step.bytes == 0) return Prepared{};
  if (step.read.place == Place::kScratch) return Prepared{InScratch(step.read)};
  if (step.read.place == Place::kOutput) {
    const Stretch* s = Find(memory_->output, offset, step.bytes);
    if (s == nullptr) return Nowhere(offset, step.bytes);
    return Prepared{In(*s, offset, Place::kOutput)};
  }
  if (memory_->kind == RailMemory::Input::kMapped) {
    const Stretch* s = Find(memory_->input, offset, step.bytes);
    if (s == nullptr) return Nowhere(offset, step.bytes);
    return Prepared{In(*s, offset, Place::kInput)};
  }
  if (const auto found = prepared_.find(offset); found != prepared_.end()) return found->second;
  auto prepared = memory_->kind == RailMemory::Input::kGathered ? Gather(step) : Reduce(step);
  if (prepared.ok()) prepared_.emplace(offset, *prepared);
  return prepared;
}

absl::StatusOr<Region> RailMerger::Write(const Step& step) const {
  if (step.bytes == 0) return Region();
  if (step.write.place == Place::kScratch) return InScratch(step.write);
  const Stretch* s = Find(memory_->output, step.write.offset, step.bytes);
  if (s == nullptr) return Nowhere(step.write.offset, step.bytes);
  return In(*s, step.write.offset, Place::kOutput);
}

Region RailMerger::InScratch(const Region& region) const {
  return {Place::kScratch, scratch_ + region.offset};
}

uint32_t RailMerger::AddMapped(const Step& step, Region read, Region write) {
  if (step.kind == StepKind::kLocal) {
    return step.reduce ? builder_.LocalReduce(step.bytes, read, write, step.finish_average)
                       : builder_.Local(step.bytes, read, write);
  }
  const RecordName record = {step.source,
                             step.destination,
                             static_cast<uint16_t>(first_phase_ + step.phase),
                             step.chunk,
                             rail_->StreamOf(step).chunk_count,
                             step.bytes};
  const absl::Span<const uint16_t> targets(rail_->targets.data() + step.first_target,
                                           step.target_count);
  const int slot_class = static_cast<int>(classes_) + step.slot_class;
  if (step.kind == StepKind::kSeal) return builder_.Seal(record, read, targets);
  if (step.kind == StepKind::kRelay) return builder_.Relay(record, step.via, targets, slot_class);
  const uint32_t open =
      step.reduce ? builder_.OpenReduce(record, step.via, read, write, step.finish_average)
                  : builder_.Open(record, step.via, write);
  if (step.target_count > 0) builder_.ForwardTo(open, targets, slot_class);
  return open;
}

void RailMerger::Publish(const Step& step, uint32_t index, const Region& written) {
  for (int k = 0; k < local_; ++k) {
    if (k == written.local) continue;
    const Region copy(Place::kOutput, written.offset, static_cast<uint16_t>(k));
    builder_.After(builder_.Local(step.bytes, written, copy), index);
  }
}

absl::Status RailMerger::AddStep(uint32_t i) {
  const Step& step = rail_->steps[i];
  const bool reads = step.kind == StepKind::kSeal || step.kind == StepKind::kLocal || step.reduce;
  const bool writes = step.kind == StepKind::kOpen || step.kind == StepKind::kLocal;
  Prepared read;
  if (reads) {
    auto found = Read(step);
    if (!found.ok()) return found.status();
    read = *found;
  }
  Region write;
  if (writes) {
    auto found = Write(step);
    if (!found.ok()) return found.status();
    write = *found;
  }
  const uint32_t index = AddMapped(step, read.region, write);
  new_index_.push_back(index);
  builder_.After(index, read.done);
  if (read.slot >= 0 && last_reader_.at(step.read.offset) == i) slot_freed_by_[read.slot] = index;
  if (memory_->everyone && WritesOutput(step) && last_writer_.at(step.write.offset) == i) {
    Publish(step, index, write);
  }
  return absl::OkStatus();
}

}  // namespace caravan::collective
