// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate/simulated_rank.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collective/reduce/reduce.h"

namespace caravan::collective {
namespace {

SimulatedMemory LayOut(const Plan& plan, int local, const std::vector<uint8_t>& input,
                       bool in_place) {
  const InPlace shared = plan.view(local).InPlaceOffsets(plan.rank_of(local));
  const uint64_t output_bytes = plan.output_bytes(local);
  const bool overlap = in_place && shared.allowed && !input.empty() && output_bytes > 0;
  SimulatedMemory memory;
  memory.input = overlap ? shared.input : 0;
  memory.output = overlap ? shared.output : input.size();
  // 0xA5: what nobody has written must not look like a result. One byte more gives empty
  // vectors an address.
  memory.bytes.assign(
      std::max(memory.input + input.size(), memory.output + size_t{output_bytes}) + 1, 0xA5);
  std::copy(input.begin(), input.end(),
            memory.bytes.begin() + static_cast<ptrdiff_t>(memory.input));
  return memory;
}

}  // namespace

SimulatedRank::SimulatedRank(const Plan& plan, absl::Span<const std::vector<uint8_t>> inputs,
                             bool in_place, bool seal_ends_early)
    : plan_(plan),
      seal_ends_early_(seal_ends_early),
      scratch_(plan.scratch_bytes),
      held_(plan.slot_classes) {
  for (int local = 0; local < plan.local_ranks(); ++local) {
    memory_.push_back(LayOut(plan, local, inputs[static_cast<size_t>(local)], in_place));
  }
  ran_.assign(plan.steps.size(), false);
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    waiting_.push_back(plan.steps[i].dependencies);
    if (waiting_[i] == 0) newly_ready_.push_back(i);
  }
}

uint8_t* SimulatedRank::At(const Region& region) {
  SimulatedMemory& memory = memory_[region.local];
  switch (region.place) {
    case Place::kInput:
      return memory.bytes.data() + memory.input + region.offset;
    case Place::kOutput:
      return memory.bytes.data() + memory.output + region.offset;
    case Place::kScratch:
      return scratch_.data() + region.offset;
  }
  return nullptr;
}

void SimulatedRank::Ran(uint32_t step) {
  ran_[step] = true;
  ++done_;
  const Step& s = plan_.steps[step];
  for (uint32_t i = 0; i < s.dependent_count; ++i) {
    const uint32_t dependent = plan_.dependents[s.first_dependent + i];
    if (--waiting_[dependent] == 0) newly_ready_.push_back(dependent);
  }
}

void SimulatedRank::RunLocal(uint32_t step) {
  const Step& s = plan_.steps[step];
  if (s.reduce) {
    Combine(s, At(s.read), At(s.write), StagesRead(s));
  } else if (At(s.read) != At(s.write)) {
    std::memmove(At(s.write), At(s.read), s.bytes);
  }
  Ran(step);
}

SimulatedRecord SimulatedRank::Seal(uint32_t step) {
  const Step& s = plan_.steps[step];
  auto [it, first] = sealed_.try_emplace(step);
  Sending& sending = it->second;
  if (first) {
    const Stream& stream = plan_.StreamOf(s);
    const uint8_t* from = At(s.read);
    sending.targets_left = s.target_count;
    sending.record = {s.source,
                      s.destination,
                      s.phase,
                      s.chunk,
                      stream.chunk_count,
                      s.chunk == stream.last_chunk,
                      StagesRead(s) + 1,
                      std::make_shared<const std::vector<uint8_t>>(from, from + s.bytes)};
    counters.sealed += s.bytes;
    counters.records_sealed += 1;
    unsent_ += s.target_count;
    if (seal_ends_early_) Ran(step);
  }
  counters.sent += s.bytes;
  counters.records_sent += 1;
  --unsent_;
  SimulatedRecord record = sending.record;
  if (--sending.targets_left == 0) {
    sealed_.erase(it);
    if (!seal_ends_early_) Ran(step);
  }
  return record;
}

SimulatedRecord SimulatedRank::Forward(uint32_t step) {
  const auto it = slots_.find(step);
  SimulatedRecord record = it->second.record;
  if (--it->second.targets_left == 0) {
    slots_.erase(it);
    --held_[plan_.steps[step].slot_class];
  }
  --unsent_;
  counters.forwarded += record.payload->size();
  counters.sent += record.payload->size();
  counters.records_sent += 1;
  return record;
}

absl::StatusOr<bool> SimulatedRank::Receive(int from, const SimulatedRecord& record) {
  const auto found =
      plan_.FindReceive(record.phase, record.source, record.destination, record.chunk);
  if (!found.ok()) return absl::InternalError(found.status().message());
  const Step& step = plan_.steps[*found];
  const Stream& stream = plan_.StreamOf(step);
  if (ran_[*found] || step.via != from || step.bytes != record.payload->size() ||
      stream.chunk_count != record.chunk_count ||
      (step.chunk == stream.last_chunk) != record.last) {
    return absl::InternalError(absl::StrCat("record of source ", record.source, ", phase ",
                                            record.phase, ", chunk ", record.chunk, " from rank ",
                                            from, " is a duplicate or contradicts step ", *found,
                                            " of rank ", plan_.rank));
  }
  const bool holds = Plan::SendsOn(step);
  if (!ready(*found) || (holds && held_[step.slot_class] >= plan_.class_slots)) return false;
  if (holds) {
    slots_.emplace(*found, Sending{record, step.target_count});
    ++held_[step.slot_class];
    peak_slots = std::max<uint64_t>(peak_slots, slots_.size());
    unsent_ += step.target_count;
  }
  counters.received += step.bytes;
  if (step.kind == StepKind::kOpen) Open(step, record);
  Ran(*found);
  return true;
}

void SimulatedRank::Open(const Step& step, const SimulatedRecord& record) {
  counters.opened += step.bytes;
  counters.records_opened += 1;
  if (step.reduce) {
    Combine(step, At(step.read), record.payload->data(), std::max(record.stages, StagesRead(step)));
    return;
  }
  uint8_t* const write = At(step.write);
  std::copy(record.payload->begin(), record.payload->end(), write);
  memory_stages_[write] = record.stages;
  stages = std::max(stages, record.stages);
}

void SimulatedRank::Combine(const Step& step, const uint8_t* left, const uint8_t* right,
                            uint32_t behind) {
  const OperationSpec& spec = plan_.spec;
  uint8_t* const write = At(step.write);
  const size_t count = step.bytes / SizeOf(spec.dtype);
  Reduce(spec.dtype, spec.reduce, left, right, write, count);
  if (step.finish_average) Average(spec.dtype, write, write, count, plan_.ranks());
  memory_stages_[write] = behind;
  stages = std::max(stages, behind);
}

std::vector<uint8_t> SimulatedRank::Output(int local) const {
  const SimulatedMemory& memory = memory_[static_cast<size_t>(local)];
  const auto begin = memory.bytes.begin() + static_cast<ptrdiff_t>(memory.output);
  return {begin, begin + static_cast<ptrdiff_t>(plan_.output_bytes(local))};
}

std::string SimulatedRank::FirstWaiting() const {
  if (done()) return "done";
  for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (ran_[i] && slots_.count(i) == 0 && sealed_.count(i) == 0) continue;
    const absl::string_view what = ran_[i]                         ? "send"
                                   : step.kind == StepKind::kSeal  ? "seal"
                                   : step.kind == StepKind::kOpen  ? "open"
                                   : step.kind == StepKind::kRelay ? "relay"
                                                                   : "copy";
    return absl::StrCat("step ", i, " (", what, " source ", step.source, ", phase ", step.phase,
                        ", chunk ", step.chunk, ", after ", waiting_[i], " more steps)");
  }
  return "nothing";
}

}  // namespace caravan::collective
