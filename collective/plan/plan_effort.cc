// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/plan_effort.h"

#include <set>
#include <tuple>

namespace caravan::collective {

Effort EffortOf(const Plan& plan) {
  Effort effort;
  effort.sealed = static_cast<double>(plan.counters.sealed);
  effort.opened = static_cast<double>(plan.counters.opened);
  effort.sent = static_cast<double>(plan.counters.sent);
  effort.received = static_cast<double>(plan.counters.received);
  effort.records_sealed = static_cast<double>(plan.counters.records_sealed);
  effort.records_opened = static_cast<double>(plan.counters.records_opened);
  effort.records_sent = static_cast<double>(plan.counters.records_sent);
  std::set<std::tuple<uint16_t, uint16_t, uint16_t>> keys;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kSeal || step.kind == StepKind::kOpen) {
      keys.emplace(step.source, step.destination, step.phase);
    }
    if (Plan::SendsOn(step)) effort.records_forwarded += step.target_count;
    if (step.kind != StepKind::kOpen && step.kind != StepKind::kLocal) continue;
    (step.reduce ? effort.reduced : effort.copied) += step.bytes;
  }
  effort.keys = static_cast<double>(keys.size());
  return effort;
}

}  // namespace caravan::collective
