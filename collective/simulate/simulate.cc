// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate/simulate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "collective/simulate/simulated_rank.h"

namespace caravan::collective {
namespace {

struct Lane {
  int from = 0;
  int to = 0;
  uint32_t number = 0;
  std::deque<SimulatedRecord> records;
  std::set<uint32_t> pending;  // the sender's ready seals and forwards, by step
};

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
    for (SimulatedRank& rank : ranks_) AddLanes(rank.plan());
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
    SimulatedRank& rank = ranks_[static_cast<size_t>(r)];
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
    SimulatedRank& rank = ranks_[static_cast<size_t>(lane.from)];
    const uint32_t step = *lane.pending.begin();
    lane.pending.erase(lane.pending.begin());
    const bool seals = rank.plan().steps[step].kind == StepKind::kSeal;
    lane.records.push_back(seals ? rank.Seal(step) : rank.Forward(step));
    Release(lane.from);
    return true;
  }

  absl::StatusOr<bool> TryReceive(Lane& lane) {
    if (lane.records.empty()) return false;
    SimulatedRank& rank = ranks_[static_cast<size_t>(lane.to)];
    const SimulatedRecord& head = lane.records.front();
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
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const SimulatedRank& r) { return r.done(); }) &&
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
  std::deque<SimulatedRank> ranks_;
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
  for (SimulatedRank& rank : ranks_) {
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
