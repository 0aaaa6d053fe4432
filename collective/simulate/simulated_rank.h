// SPDX-License-Identifier: Apache-2.0
//
// One plan in the simulator: its ranks' memory, and where it stands. Internal to simulate.cc.
#ifndef CARAVAN_COLLECTIVE_SIMULATE_SIMULATED_RANK_H_
#define CARAVAN_COLLECTIVE_SIMULATE_SIMULATED_RANK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

// A sealed record on its way. Stages counts the seals and opens behind its payload.
struct SimulatedRecord {
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint32_t chunk = 0;
  uint32_t chunk_count = 0;
  bool last = false;
  uint32_t stages = 0;
  std::shared_ptr<const std::vector<uint8_t>> payload;
};

// One rank's input and output, overlapping in place.
struct SimulatedMemory {
  std::vector<uint8_t> bytes;
  size_t input = 0;
  size_t output = 0;
};

// One plan, its ranks' memory, and where it stands.
class SimulatedRank {
 public:
  // `inputs`: one for each of the plan's local ranks.
  SimulatedRank(const Plan& plan, absl::Span<const std::vector<uint8_t>> inputs, bool in_place,
                bool seal_ends_early);

  const Plan& plan() const { return plan_; }
  bool done() const { return done_ == plan_.steps.size() && unsent_ == 0; }
  bool ready(uint32_t step) const { return waiting_[step] == 0 && !ran_[step]; }
  // Steps that have become ready since the last call.
  std::vector<uint32_t> TakeReady() { return std::exchange(newly_ready_, {}); }

  void RunLocal(uint32_t step);
  // The record for one more target: sealed for the first, the same one for the others.
  SimulatedRecord Seal(uint32_t step);
  SimulatedRecord Forward(uint32_t step);
  // True when the record was taken; false when its step or slot is not ready.
  absl::StatusOr<bool> Receive(int from, const SimulatedRecord& record);

  std::vector<uint8_t> Output(int local) const;
  std::string FirstWaiting() const;

  Counters counters;
  uint64_t peak_slots = 0;
  uint32_t stages = 0;  // the longest path that has ended here

 private:
  struct Sending {
    SimulatedRecord record;
    uint32_t targets_left = 0;
  };

  uint8_t* At(const Region& region);
  void Ran(uint32_t step);
  void Open(const Step& step, const SimulatedRecord& record);
  // write = left ⊕ right, with `behind` stages behind it.
  void Combine(const Step& step, const uint8_t* left, const uint8_t* right, uint32_t behind);
  // Behind what the step reads; nothing is behind an empty payload.
  uint32_t StagesRead(const Step& step) {
    return step.bytes == 0 ? 0 : memory_stages_[At(step.read)];
  }

  const Plan& plan_;
  const bool seal_ends_early_;
  std::vector<SimulatedMemory> memory_;  // by local rank
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

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_SIMULATE_SIMULATED_RANK_H_
