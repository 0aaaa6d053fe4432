// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/operation.h"

#include <algorithm>
#include <utility>

#include "collective/reduce/reduce.h"
#include "crypto/secret_bytes.h"

namespace caravan::engine {

using collective::Place;
using collective::Step;
using collective::StepKind;
using collective::Operation::kRecv;
using collective::Operation::kSend;

namespace {

bool Receives(const Step& step) {
  return step.kind == StepKind::kOpen || step.kind == StepKind::kRelay;
}

}  // namespace

void Operation::Prepare(std::shared_ptr<const Program> new_program, uint64_t new_sequence,
                        const GroupKeys& group_keys) {
  program = std::move(new_program);
  const collective::Plan& plan = program->plan();
  sequence = new_sequence;
  wire_op = static_cast<uint8_t>(plan.spec.op == kRecv ? kSend : plan.spec.op);
  released = false;
  waits_for = 0;
  progress = {};
  forwards_held.assign(plan.slot_classes, 0);
  steps_left = plan.steps.size();
  sends_left = 0;

  const std::vector<LaneList>& lanes = program->lanes();
  receives_left.resize(lanes.size());
  unqueued.resize(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    receives_left[i] = lanes[i].receives;
    unqueued[i] = lanes[i].items;
    if (i != program->local_lane()) sends_left += lanes[i].items;
  }
  unsent = unqueued;
  hint_.assign(lanes.size(), 0);
  ready_.assign(program->words(), 0);
  waits_.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) waits_[i] = plan.steps[i].dependencies;
  shared.assign(program->shared_steps(), nullptr);
  forwards.assign(program->forward_steps(), nullptr);
  keys.Reset(&group_keys, program.get(), wire_op, sequence);
}

void Operation::Bind(Submission new_submission, uint64_t conflict) {
  submission = std::move(new_submission);
  waits_for = conflict;
  host_.clear();
  for (const LocalPart& part : submission.parts) {
    host_.push_back({part.input.host(), part.output.host()});
  }
}

void Operation::MakeSendable(uint32_t step) {
  const StepInfo& info = program->info(step);
  for (uint32_t s = 0; s < info.send_count; ++s) {
    const Send& send = program->sends()[info.first_send + s];
    const uint32_t word = send.item / 64;
    ready_[program->lanes()[send.lane].first_word + word] |= uint64_t{1} << (send.item % 64);
    hint_[send.lane] = std::min(hint_[send.lane], word);
  }
}

void Operation::Release() {
  released = true;
  scratch_.resize(plan().scratch_bytes);
  for (uint32_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i] == 0 && !Receives(plan().steps[i])) MakeSendable(i);
  }
}

void Operation::Ran(uint32_t index) {
  const Step& step = plan().steps[index];
  waits_[index] = kNone;
  --steps_left;
  for (uint32_t d = 0; d < step.dependent_count; ++d) {
    const uint32_t dependent = plan().dependents[step.first_dependent + d];
    if (--waits_[dependent] == 0 && !Receives(plan().steps[dependent])) MakeSendable(dependent);
  }
}

void Operation::Finish() {
  keys.Wipe();
  if (!scratch_.empty()) crypto::Wipe(absl::MakeSpan(scratch_));
  submission = Submission();
  host_.clear();
  program.reset();
}

uint8_t* Operation::At(const collective::Region& region, uint32_t bytes) {
  if (bytes == 0) return nullptr;
  switch (region.place) {
    case Place::kInput:
      return host_[region.local].input + region.offset;
    case Place::kOutput:
      return host_[region.local].output + region.offset;
    case Place::kScratch:
      return scratch_.data() + region.offset;
  }
  return nullptr;
}

void Operation::Combine(const Step& step, const uint8_t* left, const uint8_t* right) {
  const collective::OperationSpec& spec = plan().spec;
  const size_t count = step.bytes / SizeOf(spec.dtype);
  uint8_t* const write = At(step.write, step.bytes);
  collective::Reduce(spec.dtype, spec.reduce, left, right, write, count);
  if (step.finish_average) collective::Average(spec.dtype, write, write, count, plan().ranks());
}

crypto::RecordHeader Operation::HeaderOf(uint32_t index, const GroupKeys& group_keys) const {
  const Step& step = plan().steps[index];
  const StepInfo& info = program->info(index);
  crypto::RecordHeader header;
  header.suite = group_keys.suite;
  header.op = wire_op;
  header.last = info.last;
  header.phase = step.phase;
  header.source = step.source;
  header.destination = step.destination;
  header.payload_size = step.bytes;
  std::copy_n(group_keys.epoch.begin(), header.epoch_prefix.size(), header.epoch_prefix.begin());
  header.sequence = sequence;
  header.chunk = step.chunk;
  header.chunk_count = info.chunk_count;
  header.operation_digest = program->digest();
  return header;
}

bool Operation::Overlaps(const Submission& other) const {
  for (const LocalPart& own : submission.parts) {
    for (const LocalPart& part : other.parts) {
      if (own.output.Meets(part.output) || own.output.Meets(part.input) ||
          own.input.Meets(part.output)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace caravan::engine
