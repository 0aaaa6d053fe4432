// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "collective/reduce.h"

namespace caravan::collective {
namespace {

// A sealed record on its way. Stages counts the seals and opens behind its payload.
struct Record {
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint32_t chunk = 0;
  uint32_t chunk_count = 0;
  bool last = false;
  uint32_t stages = 0;
  std::shared_ptr<const std::vector<uint8_t>> payload;
};

struct Lane {
  int from = 0;
  int to = 0;
  uint32_t number = 0;
  std::deque<Record> records;
  std::set<uint32_t> pending;  // the sender's ready seals and forwards, by step
};

// One rank's input and output, overlapping in place.
struct Memory {
  std::vector<uint8_t> bytes;
  size_t input = 0;
  size_t output = 0;
};

// One plan, its ranks' memory, and where it stands.
class Rank {
 public:
  // `inputs`: one for each of the plan's local ranks.
  Rank(const Plan& plan, absl::Span<const std::vector<uint8_t>> inputs, bool in_place,
       bool seal_ends_early);

  const Plan& plan() const { return plan_; }
  bool done() const { return done_ == plan_.steps.size() && unsent_ == 0; }
  bool ready(uint32_t step) const { return waiting_[step] == 0 && !ran_[step]; }
  // Steps that have become ready since the last call.
  std::vector<uint32_t> TakeReady() { return std::exchange(newly_ready_, {}); }

  void RunLocal(uint32_t step);
  // The record for one more target: sealed for the first, the same one for the others.
  Record Seal(uint32_t step);
  Record Forward(uint32_t step);
  // True when the record was taken; false when its step or slot is not ready.
  absl::StatusOr<bool> Receive(int from, const Record& record);

  std::vector<uint8_t> Output(int local) const;
  std::string FirstWaiting() const;

  Counters counters;
  uint64_t peak_slots = 0;
  uint32_t stages = 0;  // the longest path that has ended here

 private:
  struct Sending {
    Record record;
    uint32_t targets_left = 0;
  };

  uint8_t* At(const Region& region);
  void Ran(uint32_t step);
  void Open(const Step& step, const Record& record);
  // write = left ⊕ right, with `behind` stages behind it.
  void Combine(const Step& step, const uint8_t* left, const uint8_t* right, uint32_t behind);
  // Behind what the step reads; nothing is behind an empty payload.
  uint32_t StagesRead(const Step& step) {
    return step.bytes == 0 ? 0 : memory_stages_[At(step.read)];
  }

  const Plan& plan_;
  const bool seal_ends_early_;
  std::vector<Memory> memory_;  // by local rank
  std::vector<uint8_t> scratch_;
  std::vector<uint32_t> waiting_;
  std::vector<bool> ran_;
  std::vector<uint32_t> newly_ready_;
  std::unordered_map<uint32_t, Sending> sealed_;  // not yet with every target
  std::unordered_map<uint32_t, Sending> slots_;   // held to be sent on, likewise
  std::vector<uint32_t> held_;                    // of slots_, by class
  std::unordered_map<const uint8_t*, uint32_t> memory_stages_;
  size_t done_ = 0;
  size_t unsent_ = 0;
};

Memory LayOut(const Plan& plan, int local, const std::vector<uint8_t>& input, bool in_place) {
  const InPlace shared = plan.view(local).InPlaceOffsets(plan.rank_of(local));
  const uint64_t output_bytes = plan.output_bytes(local);
  const bool overlap = in_place && shared.allowed && !input.empty() && output_bytes > 0;
  Memory memory;
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

Rank::Rank(const Plan& plan, absl::Span<const std::vector<uint8_t>> inputs, bool in_place,
           bool seal_ends_early)
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

uint8_t* Rank::At(const Region& region) {
  Memory& memory = memory_[region.local];
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

void Rank::Ran(uint32_t step) {
  ran_[step] = true;
  ++done_;
  const Step& s = plan_.steps[step];
  for (uint32_t i = 0; i < s.dependent_count; ++i) {
    const uint32_t dependent = plan_.dependents[s.first_dependent + i];
    if (--waiting_[dependent] == 0) newly_ready_.push_back(dependent);
  }
}

void Rank::RunLocal(uint32_t step) {
  const Step& s = plan_.steps[step];
  if (s.reduce) {
    Combine(s, At(s.read), At(s.write), StagesRead(s));
  } else if (At(s.read) != At(s.write)) {
    std::memmove(At(s.write), At(s.read), s.bytes);
  }
  Ran(step);
}

Record Rank::Seal(uint32_t step) {
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
  Record record = sending.record;
  if (--sending.targets_left == 0) {
    sealed_.erase(it);
    if (!seal_ends_early_) Ran(step);
  }
  return record;
}

Record Rank::Forward(uint32_t step) {
  const auto it = slots_.find(step);
  Record record = it->second.record;
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

absl::StatusOr<bool> Rank::Receive(int from, const Record& record) {
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

void Rank::Open(const Step& step, const Record& record) {
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

void Rank::Combine(const Step& step, const uint8_t* left, const uint8_t* right, uint32_t behind) {
  const OperationSpec& spec = plan_.spec;
  uint8_t* const write = At(step.write);
  const size_t count = step.bytes / SizeOf(spec.dtype);
  Reduce(spec.dtype, spec.reduce, left, right, write, count);
  if (step.finish_average) Average(spec.dtype, write, write, count, plan_.ranks());
  memory_stages_[write] = behind;
  stages = std::max(stages, behind);
}

std::vector<uint8_t> Rank::Output(int local) const {
  const Memory& memory = memory_[static_cast<size_t>(local)];
  const auto begin = memory.bytes.begin() + static_cast<ptrdiff_t>(memory.output);
  return {begin, begin + static_cast<ptrdiff_t>(plan_.output_bytes(local))};
}

std::string Rank::FirstWaiting() const {
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

class Simulation {
 public:
  Simulation(const std::vector<std::shared_ptr<const Plan>>& plans,
             const std::vector<std::vector<uint8_t>>& inputs, const SimulationOptions& options)
      : options_(options), random_(options.seed) {
    // Both readings of "has run" are allowed for a seal: sealed, or sent to every target.
    const bool seal_ends_early = options.seed % 2 == 0;
    size_t first = 0;
    for (const std::shared_ptr<const Plan>& plan : plans) {
      const size_t local = static_cast<size_t>(plan->local_ranks());
      ranks_.emplace_back(*plan, absl::MakeConstSpan(inputs).subspan(first, local),
                          options.in_place, seal_ends_early);
      first += local;
    }
    for (Rank& rank : ranks_) AddLanes(rank.plan());
    for (size_t r = 0; r < ranks_.size(); ++r) Release(static_cast<int>(r));
  }

  absl::StatusOr<SimulationResult> Run();

 private:
  using Key = std::tuple<int, int, uint32_t>;

  Lane& LaneOf(int from, int to, uint32_t chunk) {
    const uint32_t number = chunk % static_cast<uint32_t>(options_.lanes);
    const auto [it, added] = lane_index_.try_emplace(Key(from, to, number), lanes_.size());
    if (added) {
      Lane& lane = lanes_.emplace_back();
      lane.from = from;
      lane.to = to;
      lane.number = number;
    }
    return lanes_[it->second];
  }

  void AddLanes(const Plan& plan) {
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::kSeal || step.kind == StepKind::kLocal) continue;
      LaneOf(step.via, plan.rank, step.chunk);
    }
  }

  // Hands steps that have become ready to their lanes.
  void Release(int r) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    for (std::vector<uint32_t> ready = rank.TakeReady(); !ready.empty(); ready = rank.TakeReady()) {
      for (const uint32_t i : ready) {
        const Step& step = rank.plan().steps[i];
        if (step.kind == StepKind::kLocal) rank.RunLocal(i);
        if (step.kind != StepKind::kSeal) continue;
        for (uint32_t t = 0; t < step.target_count; ++t) {
          LaneOf(r, rank.plan().targets[step.first_target + t], step.chunk).pending.insert(i);
        }
      }
    }
  }

  bool TrySend(Lane& lane) {
    if (lane.pending.empty() || lane.records.size() >= options_.lane_capacity) return false;
    Rank& rank = ranks_[static_cast<size_t>(lane.from)];
    const uint32_t step = *lane.pending.begin();
    lane.pending.erase(lane.pending.begin());
    const bool seals = rank.plan().steps[step].kind == StepKind::kSeal;
    lane.records.push_back(seals ? rank.Seal(step) : rank.Forward(step));
    Release(lane.from);
    return true;
  }

  absl::StatusOr<bool> TryReceive(Lane& lane) {
    if (lane.records.empty()) return false;
    Rank& rank = ranks_[static_cast<size_t>(lane.to)];
    const Record& head = lane.records.front();
    const absl::StatusOr<bool> taken = rank.Receive(lane.from, head);
    if (!taken.ok() || !*taken) return taken;
    const auto received =
        rank.plan().FindReceive(head.phase, head.source, head.destination, head.chunk);
    const Step& step = rank.plan().steps[*received];
    const int here = lane.to;
    lane.records.pop_front();
    // A lane may be added here, which moves none of the others.
    for (uint32_t t = 0; t < step.target_count; ++t) {
      LaneOf(here, rank.plan().targets[step.first_target + t], step.chunk)
          .pending.insert(*received);
    }
    Release(here);
    return true;
  }

  bool Done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.done(); }) &&
           std::all_of(lanes_.begin(), lanes_.end(),
                       [](const Lane& lane) { return lane.records.empty(); });
  }

  absl::Status Stuck() const {
    std::string message = "no rank can move:";
    for (size_t r = 0; r < ranks_.size(); ++r) {
      absl::StrAppend(&message, " rank ", r, ": ", ranks_[r].FirstWaiting(), ";");
    }
    message.pop_back();
    return absl::DeadlineExceededError(message);
  }

  const SimulationOptions options_;
  std::mt19937_64 random_;
  std::deque<Rank> ranks_;
  std::deque<Lane> lanes_;
  std::map<Key, size_t> lane_index_;
};

absl::StatusOr<SimulationResult> Simulation::Run() {
  SimulationResult result;
  // Some ranks are slow: each turn of theirs is skipped with this chance in eight.
  std::vector<uint64_t> laziness;
  for (size_t r = 0; r < ranks_.size(); ++r) laziness.push_back(random_() % 8);
  while (!Done()) {
    // Both ends of every lane once, in a fresh order. Lanes may be added while this runs.
    std::vector<size_t> turns(2 * lanes_.size());
    for (size_t i = 0; i < turns.size(); ++i) turns[i] = i;
    std::shuffle(turns.begin(), turns.end(), random_);
    bool moved = false;
    bool skipped = false;
    for (const size_t turn : turns) {
      Lane& lane = lanes_[turn / 2];
      const bool sends = turn % 2 == 0;
      if (random_() % 8 < laziness[static_cast<size_t>(sends ? lane.from : lane.to)]) {
        skipped = true;
        continue;
      }
      ++result.turns;
      if (sends) {
        moved |= TrySend(lane);
        continue;
      }
      const absl::StatusOr<bool> taken = TryReceive(lane);
      if (!taken.ok()) return taken.status();
      moved |= *taken;
    }
    if (!moved && !skipped && !Done()) return Stuck();
    // Laziness must not hide a standstill.
    if (!moved) std::fill(laziness.begin(), laziness.end(), 0);
  }
  for (Rank& rank : ranks_) {
    for (int local = 0; local < rank.plan().local_ranks(); ++local) {
      result.outputs.push_back(rank.Output(local));
    }
    result.counters.push_back(rank.counters);
    result.peak_forward_slots = std::max(result.peak_forward_slots, rank.peak_slots);
    result.crypto_depth = std::max(result.crypto_depth, rank.stages);
  }
  return result;
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const std::vector<std::shared_ptr<const Plan>>& plans,
                                          const std::vector<std::vector<uint8_t>>& inputs,
                                          const SimulationOptions& options) {
  size_t ranks = 0;
  for (const std::shared_ptr<const Plan>& plan : plans) {
    ranks += static_cast<size_t>(plan->local_ranks());
  }
  if (ranks != inputs.size() || options.lanes < 1 || options.lane_capacity < 1) {
    return absl::InvalidArgumentError(
        "simulation needs one input a rank, a lane and a capacity of one record at least");
  }
  size_t rank = 0;
  for (size_t p = 0; p < plans.size(); ++p) {
    const Plan& plan = *plans[p];
    for (int local = 0; local < plan.local_ranks(); ++local, ++rank) {
      if (plan.rank == static_cast<int>(p) && inputs[rank].size() == plan.input_bytes(local)) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("plan ", p, " and input ", rank, ": expected ", plan.input_bytes(local),
                       " bytes for the plan of ", p, ", got ", inputs[rank].size(),
                       " bytes and the plan of ", plan.rank));
    }
  }
  return Simulation(plans, inputs, options).Run();
}

}  // namespace caravan::collective
