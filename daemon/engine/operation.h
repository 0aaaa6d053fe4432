// SPDX-License-Identifier: Apache-2.0
//
// One submitted operation while it runs: what each step still waits for, what each lane may send
// now, and where the bytes live.
#ifndef CARAVAN_DAEMON_ENGINE_OPERATION_H_
#define CARAVAN_DAEMON_ENGINE_OPERATION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "collective/plan/plan.h"
#include "crypto/record.h"
#include "daemon/engine/op_keys.h"
#include "daemon/engine/program.h"
#include "daemon/engine/progress.h"
#include "daemon/engine/submission.h"
#include "daemon/engine/wire_buffer.h"

namespace caravan::engine {

class Operation {
 public:
  // Takes the place of whatever ran in this object before; its memory is used again. Nothing is
  // ready until Release().
  void Prepare(std::shared_ptr<const Program> program, uint64_t sequence, const GroupKeys& keys);
  void Bind(Submission submission, uint64_t conflict);
  // Makes the steps without dependencies ready.
  void Release();
  // Drops references to buffers and wipes keys and scratch.
  void Finish();

  // `step` has run: frees those that waited for it.
  void Ran(uint32_t step);
  bool Ready(uint32_t step) const { return released && waits_[step] == 0; }
  bool HasRun(uint32_t step) const { return waits_[step] == kNone; }
  // All sends of `step` may go.
  void MakeSendable(uint32_t step);

  // The lowest ready step of `lane` that `accept(step)` takes, or kNone; it is taken off the list.
  template <typename Accept>
  uint32_t TakeReady(uint32_t lane, Accept accept);

  // step.write = left ⊕ right.
  void Combine(const collective::Step& step, const uint8_t* left, const uint8_t* right);
  // Where a region starts in this process; null for an empty one.
  uint8_t* At(const collective::Region& region, uint32_t bytes);
  crypto::RecordHeader HeaderOf(uint32_t step, const GroupKeys& keys) const;

  bool Done() const { return steps_left == 0 && sends_left == 0; }
  const collective::Plan& plan() const { return program->plan(); }
  // Whether one writes what the other reads or writes.
  bool Overlaps(const Submission& other) const;

  std::shared_ptr<const Program> program;
  Submission submission;
  uint64_t sequence = 0;
  uint8_t wire_op = 0;     // kSend for Recv as well
  uint64_t waits_for = 0;  // runs once all operations below this id are complete
  bool released = false;
  uint64_t steps_left = 0;
  uint64_t sends_left = 0;              // records not yet wholly in a socket
  std::vector<uint32_t> receives_left;  // by lane
  std::vector<uint32_t> unqueued;       // by lane: sends not yet handed to the lane
  std::vector<uint32_t> unsent;         // by lane: sends not yet wholly in the socket
  std::vector<WireBuffer*> shared;      // records for several peers, by StepInfo::shared
  std::vector<WireBuffer*> forwards;    // held forwards, by StepInfo::forward
  std::vector<uint32_t> forwards_held;  // by slot class
  OperationProgress progress;
  OpKeys keys;

 private:
  std::vector<uint32_t> waits_;  // dependencies left; kNone once run
  std::vector<uint64_t> ready_;  // a bit per send
  std::vector<uint32_t> hint_;   // by lane: no ready bit below this word
  std::vector<uint8_t> scratch_;
  // The submission's buffers in this process, by local rank: asked for once, in Bind().
  struct HostPart {
    uint8_t* input = nullptr;
    uint8_t* output = nullptr;
  };
  absl::InlinedVector<HostPart, 1> host_;
};

template <typename Accept>
uint32_t Operation::TakeReady(uint32_t lane, Accept accept) {
  const LaneList& list = program->lanes()[lane];
  bool below = true;  // all words so far were empty
  for (uint32_t word = hint_[lane]; word < list.words; ++word) {
    uint64_t bits = ready_[list.first_word + word];
    if (bits == 0 && below) hint_[lane] = word + 1;
    if (bits != 0) below = false;
    for (; bits != 0; bits &= bits - 1) {
      const uint32_t bit = static_cast<uint32_t>(__builtin_ctzll(bits));
      const uint32_t step = program->StepOfItem(lane, word * 64 + bit);
      if (!accept(step)) continue;
      ready_[list.first_word + word] &= ~(uint64_t{1} << bit);
      return step;
    }
  }
  return kNone;
}

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_OPERATION_H_
