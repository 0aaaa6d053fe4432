// SPDX-License-Identifier: Apache-2.0
//
// Collects the steps of one plan, then checks them and derives what follows from them: streams,
// counters, the lists of dependents. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_PLAN_PLAN_BUILDER_H_
#define CARAVAN_COLLECTIVE_PLAN_PLAN_BUILDER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

// What a sealed record is called on the wire.
struct RecordName {
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint32_t chunk = 0;
  uint32_t chunk_count = 1;
  uint32_t bytes = 0;
};

class PlanBuilder {
 public:
  PlanBuilder(const OperationSpec& spec, int rank, int size);
  // Plans for a node with several ranks, by their views of the operation.
  PlanBuilder(const std::vector<OperationSpec>& views, int node, int nodes);

  const OperationSpec& spec() const { return plan_->spec; }
  int rank() const { return plan_->rank; }
  int size() const { return plan_->size; }
  // The rank `distance` places after this one; negative distances go back.
  uint16_t Neighbour(int distance) const;
  // rank + 1, rank + 2, …: all but this rank.
  std::vector<uint16_t> EveryOther() const;

  // Room for about so many steps; growing by copies would touch twice the pages.
  void Reserve(uint64_t steps);

  // Each returns the new step's index. Indices are the sender's priority: lower goes first.
  uint32_t Seal(const RecordName& record, Region read, absl::Span<const uint16_t> targets);
  uint32_t Open(const RecordName& record, uint16_t via, Region write);
  uint32_t OpenReduce(const RecordName& record, uint16_t via, Region read, Region write,
                      bool last_contribution);
  uint32_t Local(uint32_t bytes, Region read, Region write);
  uint32_t LocalReduce(uint32_t bytes, Region read, Region write, bool last_contribution);
  // A record that this rank only sends on.
  uint32_t Relay(const RecordName& record, uint16_t via, absl::Span<const uint16_t> targets,
                 int slot_class);

  // The record of `open` is sent on to `targets`, held meanwhile in a slot of the class.
  void ForwardTo(uint32_t open, absl::Span<const uint16_t> targets, int slot_class = 0);
  // `step` may run only after `earlier`, a step with a lower index: so no plan waits in a circle.
  // kNoStep on either side is ignored.
  void After(uint32_t step, uint32_t earlier);

  void SetForwardSlots(uint32_t slots, uint32_t classes = 1);
  void SetScratch(uint64_t bytes) { plan_->scratch_bytes = bytes; }

  // Internal when a record's name repeats, a stream contradicts itself, a chunk is too long, a
  // step waits for a later one, a record goes to or comes from this rank itself, or is sent on
  // without a slot.
  // The builder is spent.
  absl::StatusOr<std::shared_ptr<const Plan>> Finish();

 private:
  uint32_t Add(StepKind kind, const RecordName& record);
  uint32_t StreamFor(const RecordName& record);
  void SetTargets(Step& step, absl::Span<const uint16_t> targets);
  absl::Status CheckRoutes() const;
  absl::Status IndexChunks();
  void ListDependents();
  void Count();

  std::shared_ptr<Plan> plan_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  // (earlier, step)
  absl::Status status_;
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_PLAN_PLAN_BUILDER_H_
