// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/sender.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

using collective::Place;
using collective::Step;
using collective::StepKind;

namespace {

size_t RecordSize(const Operation& operation, uint32_t step) {
  return operation.plan().steps[step].bytes + crypto::kRecordOverhead;
}

}  // namespace

Operation* Sender::Sending(Lane& lane) {
  lane.send_cursor = std::max(lane.send_cursor, state_.window().begin());
  for (; lane.send_cursor < state_.window().end(); ++lane.send_cursor) {
    Operation* operation = state_.window().Get(lane.send_cursor);
    if (operation->unqueued[lane.id] > 0) return operation;
  }
  return nullptr;
}

bool Sender::MayTake(const Operation& operation, uint32_t step) const {
  return state_.held().MayShare(operation, step, state_.IsOldest(operation));
}

bool Sender::HasRoom(const Lane& lane, const Operation& operation, uint32_t step) {
  const StepInfo& info = operation.program->info(step);
  if (info.shared != kNone || info.forward != kNone) return true;
  return lane.HasRoom(RecordSize(operation, step));
}

bool Sender::Seal(Operation& operation, uint32_t index, absl::Span<uint8_t> record) {
  state_.BeforeStep(operation, index);
  const Step& step = operation.plan().steps[index];
  const StepInfo& info = operation.program->info(index);
  auto fail = [&](const absl::Status& why, absl::string_view word) {
    state_.Raise(why.code(), state_.config().rank, &operation, step.phase, step.chunk,
                 absl::StrCat("sealing failed: ", why.message()), word);
    return false;
  };
  auto cipher = operation.keys.Get(info.key);
  if (!cipher.ok()) return fail(cipher.status(), "SEAL");
  absl::Span<const uint8_t> payload(operation.At(step.read, step.bytes), step.bytes);
  if (step.bytes > 0 && step.read.place != Place::kScratch && !(*cipher)->ReadsPlaintextOnce()) {
    // The application may write its buffer meanwhile: an engine that reads twice gets a copy.
    const absl::Span<uint8_t> copy = state_.Scratch(step.bytes);
    std::memcpy(copy.data(), payload.data(), payload.size());
    payload = copy;
  }
  auto s = (*cipher)->Seal(operation.HeaderOf(index, state_.keys()), payload, record);
  if (!s.ok()) return fail(s, "SEAL");
  operation.keys.Used(info.key);
  state_.progress().CountSealed(operation.progress, step.bytes);
  operation.Ran(index);
  state_.progress().Moved(operation.progress);
  return true;
}

bool Sender::Enqueue(Lane& lane, Operation& operation, uint32_t index) {
  const Step& step = operation.plan().steps[index];
  const StepInfo& info = operation.program->info(index);
  const size_t record_size = RecordSize(operation, index);
  Segment segment;
  segment.operation = &operation;
  segment.step = index;
  segment.payload = step.bytes;
  if (info.forward != kNone) {
    segment.owner = Segment::Owner::kForward;
    segment.buffer = operation.forwards[info.forward];
  } else if (info.shared != kNone) {
    segment.owner = Segment::Owner::kShared;
    segment.buffer = operation.shared[info.shared];
    if (segment.buffer == nullptr) {
      segment.buffer = state_.held().Share(operation, index);
      if (!Seal(operation, index, {segment.buffer->data.get(), record_size})) return false;
    }
  } else {
    WireBuffer* space = lane.Reserve(record_size);
    segment.buffer = space;
    segment.begin = space->fill;
    if (!Seal(operation, index, {space->data.get() + space->fill, record_size})) return false;
    space->fill += static_cast<uint32_t>(record_size);
    ++space->users;
  }
  segment.end = segment.begin + static_cast<uint32_t>(record_size);
  --operation.unqueued[lane.id];
  lane.Push(segment);
  return true;
}

bool Sender::Fill(Lane& lane) {
  bool filled = false;
  while (!lane.QueueFull()) {
    Operation* operation = Sending(lane);
    if (operation == nullptr) break;
    // A record's size is known once its step is, so room is asked for inside the choice: a step
    // without room stays ready, and nothing overtakes it.
    bool full = false;
    const uint32_t step = operation->TakeReady(lane.id, [&](uint32_t candidate) {
      if (full || !MayTake(*operation, candidate)) return false;
      full = !HasRoom(lane, *operation, candidate);
      return !full;
    });
    if (step == kNone || !Enqueue(lane, *operation, step)) break;
    filled = true;
  }
  return filled;
}

bool Sender::Pump(Lane& lane) {
  if (!lane.writable || lane.send_ended) return false;
  if (lane.QueueEmpty() && lane.idle_at == state_.progress().change()) return false;
  bool moved = false;
  // Two system calls at most, so that a fast reader does not keep this thread from the others.
  for (int i = 0; i < 2 && lane.writable; ++i) {
    Fill(lane);
    if (state_.faulted()) return true;
    if (lane.QueueEmpty()) {
      lane.idle_at = state_.progress().change();
      break;
    }
    const Io io = lane.Flush([&](const Segment& segment) { state_.Sent(lane, segment); });
    if (io == Io::kBroken) {
      lane.send_ended = true;
      lane.hung_up = lane.readable = true;
      state_.progress().Changed();
      return true;
    }
    moved |= io == Io::kMoved;
  }
  return moved;
}

}  // namespace caravan::engine
