// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/plan_builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collective/cost/cost.h"

namespace caravan::collective {
namespace {

std::string Describe(const Step& step) {
  return absl::StrCat("source ", step.source, ", destination ", step.destination, ", phase ",
                      step.phase, ", chunk ", step.chunk);
}

}  // namespace

PlanBuilder::PlanBuilder(const OperationSpec& spec, int rank, int size)
    : plan_(std::make_shared<Plan>()) {
  plan_->spec = spec;
  plan_->rank = rank;
  plan_->size = size;
}

PlanBuilder::PlanBuilder(const std::vector<OperationSpec>& views, int node, int nodes)
    : PlanBuilder(views.front(), node, nodes) {
  plan_->views = views;
}

void PlanBuilder::Reserve(uint64_t steps) {
  plan_->steps.reserve(steps);
  edges_.reserve(steps);
}

uint16_t PlanBuilder::Neighbour(int distance) const {
  return static_cast<uint16_t>(((rank() + distance) % size() + size()) % size());
}

std::vector<uint16_t> PlanBuilder::EveryOther() const {
  std::vector<uint16_t> others;
  for (int k = 1; k < size(); ++k) others.push_back(Neighbour(k));
  return others;
}

uint32_t PlanBuilder::StreamFor(const RecordName& record) {
  const uint64_t key = Plan::StreamKey(record.phase, record.source, record.destination);
  const auto [it, added] =
      plan_->stream_index_.try_emplace(key, static_cast<uint32_t>(plan_->streams.size()));
  if (added) {
    plan_->streams.push_back(
        {record.source, record.destination, record.phase, record.chunk_count, record.chunk});
  }
  return it->second;
}

uint32_t PlanBuilder::Add(StepKind kind, const RecordName& record) {
  Step step;
  step.kind = kind;
  step.source = record.source;
  step.destination = record.destination;
  step.phase = record.phase;
  step.chunk = record.chunk;
  step.bytes = record.bytes;
  if (record.bytes > uint64_t{1} << spec().chunk_log2) {
    status_.Update(absl::InternalError(
        absl::StrCat("plan has a step of ", record.bytes, " bytes, longer than a chunk")));
  }
  if (kind != StepKind::kLocal) {
    Stream& stream = plan_->streams[StreamFor(record)];
    stream.last_chunk = std::max(stream.last_chunk, record.chunk);
    if (stream.chunk_count != record.chunk_count || record.chunk >= record.chunk_count) {
      status_.Update(absl::InternalError(
          absl::StrCat("plan contradicts its stream of ", stream.chunk_count,
                       " chunks: ", Describe(step), " of ", record.chunk_count)));
    }
  }
  plan_->steps.push_back(step);
  return static_cast<uint32_t>(plan_->steps.size() - 1);
}

uint32_t PlanBuilder::Seal(const RecordName& record, Region read,
                           absl::Span<const uint16_t> targets) {
  const uint32_t index = Add(StepKind::kSeal, record);
  plan_->steps[index].read = read;
  SetTargets(plan_->steps[index], targets);
  return index;
}

void PlanBuilder::SetTargets(Step& step, absl::Span<const uint16_t> targets) {
  step.target_count = static_cast<uint16_t>(targets.size());
  // Steps one after another mostly share their targets, and so the list.
  std::vector<uint16_t>& all = plan_->targets;
  const bool repeats = all.size() >= targets.size() &&
                       std::equal(targets.begin(), targets.end(), all.end() - targets.size());
  if (!repeats) all.insert(all.end(), targets.begin(), targets.end());
  step.first_target = static_cast<uint32_t>(all.size() - targets.size());
}

uint32_t PlanBuilder::Open(const RecordName& record, uint16_t via, Region write) {
  const uint32_t index = Add(StepKind::kOpen, record);
  plan_->steps[index].via = via;
  plan_->steps[index].write = write;
  return index;
}

uint32_t PlanBuilder::OpenReduce(const RecordName& record, uint16_t via, Region read, Region write,
                                 bool last_contribution) {
  const uint32_t index = Open(record, via, write);
  Step& step = plan_->steps[index];
  step.reduce = true;
  step.read = read;
  step.finish_average = last_contribution && spec().reduce == ReduceOp::kAvg;
  return index;
}

uint32_t PlanBuilder::Local(uint32_t bytes, Region read, Region write) {
  const uint32_t index = Add(StepKind::kLocal, {.bytes = bytes});
  plan_->steps[index].read = read;
  plan_->steps[index].write = write;
  return index;
}

uint32_t PlanBuilder::LocalReduce(uint32_t bytes, Region read, Region write,
                                  bool last_contribution) {
  const uint32_t index = Local(bytes, read, write);
  plan_->steps[index].reduce = true;
  plan_->steps[index].finish_average = last_contribution && spec().reduce == ReduceOp::kAvg;
  return index;
}

uint32_t PlanBuilder::Relay(const RecordName& record, uint16_t via,
                            absl::Span<const uint16_t> targets, int slot_class) {
  const uint32_t index = Add(StepKind::kRelay, record);
  plan_->steps[index].via = via;
  ForwardTo(index, targets, slot_class);
  return index;
}

void PlanBuilder::ForwardTo(uint32_t open, absl::Span<const uint16_t> targets, int slot_class) {
  plan_->steps[open].slot_class = static_cast<uint8_t>(slot_class);
  SetTargets(plan_->steps[open], targets);
}

void PlanBuilder::SetForwardSlots(uint32_t slots, uint32_t classes) {
  plan_->class_slots = slots;
  plan_->slot_classes = classes;
}

void PlanBuilder::After(uint32_t step, uint32_t earlier) {
  if (step == kNoStep || earlier == kNoStep) return;
  if (earlier >= step) {
    status_.Update(absl::InternalError(absl::StrCat("plan has step ", step, " wait for step ",
                                                    earlier, ", which is listed later")));
  }
  edges_.emplace_back(earlier, step);
}

absl::Status PlanBuilder::IndexChunks() {
  uint64_t total = 0;
  for (const Stream& stream : plan_->streams) {
    plan_->stream_first_.push_back(total);
    total += uint64_t{stream.last_chunk} + 1;
  }
  plan_->chunk_step_.assign(total, kNoStep);
  for (uint32_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    if (step.kind == StepKind::kLocal) continue;
    const uint32_t stream =
        plan_->stream_index_.at(Plan::StreamKey(step.phase, step.source, step.destination));
    uint32_t& slot = plan_->chunk_step_[plan_->stream_first_[stream] + step.chunk];
    if (slot != kNoStep) {
      return absl::InternalError(
          absl::StrCat("plan repeats a record and with it a nonce: ", Describe(step)));
    }
    slot = i;
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::CheckRoutes() const {
  for (const Step& step : plan_->steps) {
    if (step.kind == StepKind::kLocal) continue;
    const auto bad = [&step](absl::string_view what) {
      return absl::InternalError(absl::StrCat("plan ", what, ": ", Describe(step)));
    };
    const bool received = step.kind != StepKind::kSeal;
    if (received && (step.via >= size() || step.via == rank())) {
      return bad("receives from no other rank");
    }
    if (step.kind != StepKind::kOpen && step.target_count == 0) return bad("sends to nobody");
    for (uint32_t t = 0; t < step.target_count; ++t) {
      const uint16_t target = plan_->targets[step.first_target + t];
      if (target >= size() || target == rank()) return bad("sends to no other rank");
    }
    const bool holds = received && step.target_count > 0;
    if (holds && (step.slot_class >= plan_->slot_classes || plan_->class_slots == 0)) {
      return bad("sends on a record without a slot");
    }
  }
  return absl::OkStatus();
}

void PlanBuilder::ListDependents() {
  for (const auto& [earlier, step] : edges_) {
    ++plan_->steps[step].dependencies;
    ++plan_->steps[earlier].dependent_count;
  }
  uint32_t next = 0;
  std::vector<uint32_t> fill(plan_->steps.size());
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    fill[i] = plan_->steps[i].first_dependent = next;
    next += plan_->steps[i].dependent_count;
  }
  plan_->dependents.resize(next);
  for (const auto& [earlier, step] : edges_) plan_->dependents[fill[earlier]++] = step;
}

void PlanBuilder::Count() {
  Counters& counters = plan_->counters;
  for (const Step& step : plan_->steps) {
    if (step.kind == StepKind::kSeal) {
      counters.sealed += step.bytes;
      counters.sent += uint64_t{step.bytes} * step.target_count;
      counters.records_sealed += 1;
      counters.records_sent += step.target_count;
    } else if (step.kind != StepKind::kLocal) {
      counters.received += step.bytes;
      counters.forwarded += uint64_t{step.bytes} * step.target_count;
      counters.sent += uint64_t{step.bytes} * step.target_count;
      counters.records_sent += step.target_count;
      if (step.kind == StepKind::kRelay) continue;
      counters.opened += step.bytes;
      counters.records_opened += 1;
    }
  }
}

absl::StatusOr<std::shared_ptr<const Plan>> PlanBuilder::Finish() {
  if (!status_.ok()) return status_;
  if (absl::Status status = IndexChunks(); !status.ok()) return status;
  if (absl::Status status = CheckRoutes(); !status.ok()) return status;
  const Cost cost = CostOf(spec().op, spec().algorithm, size());
  plan_->rounds = cost.rounds;
  plan_->crypto_depth = cost.crypto_depth;
  ListDependents();
  Count();
  return std::shared_ptr<const Plan>(std::move(plan_));
}

}  // namespace caravan::collective
