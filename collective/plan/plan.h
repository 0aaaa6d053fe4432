// SPDX-License-Identifier: Apache-2.0
//
// A plan is what one rank does for one collective, as data: a list of steps over chunks with
// dependencies. Four readers share it: the engine runs it on real memory, the simulator runs all
// ranks in one process, the cost model prices it, people read it (`caravanctl plan explain`).
//
// A step is the life of one record at this rank:
//   kSeal     seal `bytes` of `buffer` at `offset` once, send the record to each of `targets`
//   kOpen     receive the record (phase, source, destination, chunk) from `via`, open it, then
//             copy or reduce it into place, and send the record on to each of `targets`, if there
//             are any, as it came
//   kRelay    receive the record from `via` and send it on to `targets` as it came: it is sealed
//             for another rank, and this one cannot open it
//   kLocal    copy own input to own output (a no-op in place), or reduce scratch into the output
// An empty operation still sends one empty record a stream (chunk 0 of chunk_count 1, 0 bytes), so
// that ranks which disagree about it notice.
//
// Running a plan (the contract that the engine and the simulator both keep)
//   - A step may run when all its dependencies have run.
//   - A lane is a FIFO between two ranks; a record travels on lane chunk % lanes. From the ready
//     kSeal steps and forwards for a lane, the sender picks the lowest step index first.
//   - A receiver looks at the head of each lane only. A head whose step is not ready, or whose
//     forward slot is not free, makes that lane wait; it never makes another lane wait.
//   - A record to be sent on is held in a slot of its step's class until the last target has it;
//     there are `class_slots` of each of `slot_classes`. Classes never share slots: that is what
//     keeps rounds from waiting for earlier ones (doubling.cc).
//   Under these rules every plan ends, for any lane capacity of at least one record: the property
//   tests hold it.
#ifndef CARAVAN_COLLECTIVE_PLAN_PLAN_H_
#define CARAVAN_COLLECTIVE_PLAN_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/types.h"

namespace caravan::collective {

inline constexpr uint16_t kEveryRank = 0xFFFF;  // destination under a sender key

enum class StepKind : uint8_t { kSeal, kOpen, kRelay, kLocal };

inline constexpr uint32_t kNoStep = UINT32_MAX;

// Where bytes live. kScratch is `scratch_bytes` of private memory, one per running plan.
enum class Place : uint8_t { kInput, kOutput, kScratch };

struct Region {
  Place place = Place::kInput;
  uint16_t local = 0;   // whose input or output, among the ranks that share this plan (islands.h)
  uint64_t offset = 0;  // bytes

  Region() = default;
  Region(Place where, uint64_t at, uint16_t whose = 0) : place(where), local(whose), offset(at) {}
};

struct Step {
  StepKind kind = StepKind::kLocal;
  // kOpen: write = reduce ? read ⊕ record : record. kLocal: write = reduce ? read ⊕ write : read.
  bool reduce = false;
  // Divide by the number of ranks after this reduction (kAvg's last contribution).
  bool finish_average = false;
  uint8_t slot_class = 0;  // of the slot that holds the record until it is sent on
  // The key: source's sender key when destination is kEveryRank, the pair's otherwise.
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint16_t via = 0;              // kOpen, kRelay: the rank that transmits the record to this one
  uint16_t target_count = 0;     // to whom the record goes; for kOpen and kRelay as it came
  uint32_t chunk = 0;            // position in the source's vector for (destination, phase)
  uint32_t bytes = 0;            // ≤ chunk size, kLocal included
  Region read;                   // kSeal: the payload. kOpen: reduction's left operand. kLocal
  Region write;                  // kOpen, kLocal
  uint32_t first_target = 0;     // targets[first_target, first_target + target_count)
  uint32_t dependencies = 0;     // how many steps must run before this one
  uint32_t first_dependent = 0;  // dependents[first_dependent, … + dependent_count)
  uint32_t dependent_count = 0;
};

// Payload bytes of one rank; headers and tags are not counted.
struct Counters {
  uint64_t sealed = 0;
  uint64_t opened = 0;
  uint64_t forwarded = 0;  // payload bytes sent on as they came, counted once a target
  uint64_t sent = 0;       // payload bytes written to peers: a record to three peers counts thrice
  uint64_t received = 0;
  uint64_t records_sealed = 0;
  uint64_t records_opened = 0;
  uint64_t records_sent = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

// How many chunks a source has for (destination, phase): record headers carry it, and `last`
// marks the highest.
struct Stream {
  uint16_t source = 0;
  uint16_t destination = 0;
  uint16_t phase = 0;
  uint32_t chunk_count = 1;
  uint32_t last_chunk = 0;  // highest chunk planned
};

struct Plan {
  OperationSpec spec;  // with the algorithm resolved
  int rank = 0;
  int size = 1;
  // Where several ranks share a node's memory, rank and size above are of nodes, and these are the
  // node's own ranks' views of the operation, in their order. Empty: one rank a node.
  std::vector<OperationSpec> views;
  std::vector<Step> steps;
  std::vector<uint16_t> targets;
  std::vector<uint32_t> dependents;
  std::vector<Stream> streams;
  uint64_t scratch_bytes = 0;
  uint32_t class_slots = 0;  // forward slots of each class
  uint32_t slot_classes = 1;
  Counters counters;          // what running the plan must count
  uint32_t crypto_depth = 0;  // seal/open stages on the longest path over all ranks
  uint32_t rounds = 0;        // records one after another on the longest path

  int local_ranks() const { return views.empty() ? 1 : static_cast<int>(views.size()); }
  int ranks() const { return size * local_ranks(); }
  const OperationSpec& view(int local) const { return views.empty() ? spec : views[local]; }
  int rank_of(int local) const { return rank * local_ranks() + local; }
  // What the callers must provide, by NCCL's conventions.
  uint64_t input_bytes(int local = 0) const {
    return view(local).InputBytes(rank_of(local), ranks());
  }
  uint64_t output_bytes(int local = 0) const {
    return view(local).OutputBytes(rank_of(local), ranks());
  }
  uint32_t forward_slots() const { return class_slots * slot_classes; }
  // Whether the step holds its record to send it on.
  static bool SendsOn(const Step& step) {
    return step.kind != StepKind::kSeal && step.target_count > 0;
  }

  // Index into steps of the kOpen or kRelay step that this record belongs to, or NotFound.
  absl::StatusOr<uint32_t> FindReceive(uint16_t phase, uint16_t source, uint16_t destination,
                                       uint32_t chunk) const;
  // The stream of a step; every step but kLocal has one.
  const Stream& StreamOf(const Step& step) const;

  // A few lines for a person: algorithm, rounds, bytes sealed, opened, forwarded.
  std::string Explain() const;

 private:
  friend class PlanBuilder;

  static uint64_t StreamKey(uint16_t phase, uint16_t source, uint16_t destination) {
    return uint64_t{phase} << 32 | uint64_t{source} << 16 | destination;
  }

  std::unordered_map<uint64_t, uint32_t> stream_index_;  // StreamKey to index into streams
  std::vector<uint64_t> stream_first_;                   // stream to its place in chunk_step_
  std::vector<uint32_t> chunk_step_;                     // step of each chunk of each stream
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_PLAN_PLAN_H_
