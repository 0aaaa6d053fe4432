// SPDX-License-Identifier: Apache-2.0
//
// Runs the plans of all ranks in one process, step by step, with lanes of bounded capacity and a
// scheduler that the caller seeds. For tests and the cost model.
#ifndef CARAVAN_COLLECTIVE_SIMULATE_SIMULATE_H_
#define CARAVAN_COLLECTIVE_SIMULATE_SIMULATE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

struct SimulationOptions {
  int lanes = 1;
  uint32_t lane_capacity = 1;  // records in flight per lane and direction
  uint64_t seed = 0;           // order in which ranks and lanes get their turns
  bool in_place = false;
};

struct SimulationResult {
  std::vector<std::vector<uint8_t>> outputs;  // per rank
  std::vector<Counters> counters;             // per plan, counted while running
  uint64_t turns = 0;
  uint64_t peak_forward_slots = 0;
  uint32_t crypto_depth = 0;  // most records behind any byte of the result, as observed
};

// `plans[r]` is of rank r, or of node r with its local ranks (islands.h). `inputs` has one for each
// rank, of as many bytes as its plan says. DeadlineExceeded when no rank can move: the message
// names each rank's first waiting step.
absl::StatusOr<SimulationResult> Simulate(const std::vector<std::shared_ptr<const Plan>>& plans,
                                          const std::vector<std::vector<uint8_t>>& inputs,
                                          const SimulationOptions& options);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_SIMULATE_SIMULATE_H_
