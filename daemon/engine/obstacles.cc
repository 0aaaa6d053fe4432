// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/obstacles.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

std::vector<Obstacle> FindObstacles(const GroupState& state) {
  const Operation& oldest = state.window().oldest();
  std::vector<Obstacle> obstacles;
  std::vector<bool> known(state.config().size);
  auto add = [&](uint16_t peer, uint16_t phase, uint32_t chunk, std::string what) {
    known[peer] = true;
    obstacles.push_back({peer, phase, chunk, std::move(what)});
  };
  // A record at the head of a parked lane is here: this rank cannot take it yet.
  std::vector<bool> parked(size_t{state.config().size} * state.lanes_per_peer());
  for (const std::unique_ptr<Lane>& lane : state.lanes()) parked[lane->id] = lane->parked_at != 0;
  const std::vector<collective::Step>& steps = oldest.plan().steps;
  const size_t others = size_t{state.config().size} - 1;
  for (uint32_t i = 0; i < steps.size() && obstacles.size() < others; ++i) {
    const collective::Step& step = steps[i];
    const bool receives =
        step.kind == collective::StepKind::kOpen || step.kind == collective::StepKind::kRelay;
    if (!receives || known[step.via] || !oldest.Ready(i)) continue;
    if (parked[oldest.program->ReceiveLane(step)]) continue;
    add(step.via, step.phase, step.chunk,
        absl::StrCat("waiting for a record that ", state.NameOf(step.via),
                     " has to send (sealed by rank ", step.source, ")"));
  }
  for (const std::unique_ptr<Lane>& lane : state.lanes()) {
    if (known[lane->peer] || oldest.unsent[lane->id] == 0 || lane->QueueEmpty()) continue;
    add(lane->peer, 0, 0,
        absl::StrCat(state.NameOf(lane->peer), " does not take ", oldest.unsent[lane->id],
                     " records for it"));
  }
  if (obstacles.empty()) add(state.config().rank, 0, 0, "no step can run");
  return obstacles;
}

}  // namespace caravan::engine
