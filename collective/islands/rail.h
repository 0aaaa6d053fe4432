// SPDX-License-Identifier: Apache-2.0
//
// Takes a plan among nodes over into the plan of a node with several ranks: the same records, with
// the local ranks' buffers in place of one input and one output. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_ISLANDS_RAIL_H_
#define CARAVAN_COLLECTIVE_ISLANDS_RAIL_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "collective/plan/plan.h"
#include "collective/plan/plan_builder.h"

namespace caravan::collective {

// A stretch of a rail's input or output, and where it lies in a local rank's.
struct Stretch {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint16_t local = 0;
  uint64_t offset = 0;
};

struct RailMemory {
  enum class Input {
    kMapped,    // each stretch lies in one local rank's input
    kGathered,  // the stretches are copied into `home` first, chunk by chunk
    kReduced,   // every local rank has its own at the stretch's offset; they are added up first
  };
  Input kind = Input::kMapped;
  std::vector<Stretch> input;
  // kGathered, kReduced: where in the outputs a stretch is brought together. kReduced: in scratch
  // where no stretch of `home` has it.
  std::vector<Stretch> home;
  std::vector<Stretch> output;
  bool everyone = false;  // results go to the other local ranks too, at the same offset
};

// Adds rails to one builder, one after another.
class RailMerger {
 public:
  // `slots`: chunks of scratch for inputs that are added up there.
  RailMerger(PlanBuilder& builder, int local, uint32_t slots);

  // Adds all of `rail`'s steps, its phases counted from `first_phase`. Internal where a step's
  // bytes lie in no stretch.
  absl::Status Add(const Plan& rail, const RailMemory& memory, uint16_t first_phase);

  // Scratch and forward slots for all that was added. Once, at the end.
  void Finish();

 private:
  // A chunk of the rail's input after local steps have brought it together.
  struct Prepared {
    Region region;
    uint32_t done = kNoStep;  // the last of those steps
    int slot = -1;            // of scratch
  };

  void FindLast();
  absl::Status AddStep(uint32_t index);
  absl::StatusOr<Prepared> Read(const Step& step);
  absl::StatusOr<Prepared> Gather(const Step& step);
  absl::StatusOr<Prepared> Reduce(const Step& step);
  absl::StatusOr<Region> Write(const Step& step) const;
  Region InScratch(const Region& region) const;
  uint32_t AddMapped(const Step& step, Region read, Region write);
  void Publish(const Step& step, uint32_t index, const Region& written);
  // A local step waits for the one before it: chunks become ready in the order of the plan.
  uint32_t InOrder(uint32_t step);

  PlanBuilder& builder_;
  const int local_;
  const uint64_t chunk_;
  std::vector<uint32_t> slot_freed_by_;
  size_t next_slot_ = 0;
  uint32_t last_local_ = kNoStep;
  uint64_t scratch_;  // bytes so far
  uint32_t class_slots_ = 0;
  uint32_t classes_ = 0;

  // The rail at hand.
  const Plan* rail_ = nullptr;
  const RailMemory* memory_ = nullptr;
  uint16_t first_phase_ = 0;
  std::vector<uint32_t> new_index_;
  std::unordered_map<uint64_t, uint32_t> last_reader_;  // by offset in the rail's input
  std::unordered_map<uint64_t, uint32_t> last_writer_;  // … output
  std::unordered_map<uint64_t, Prepared> prepared_;     // … input
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ISLANDS_RAIL_H_
