// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/receiver.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/answerable.h"

namespace caravan::engine {

using collective::Step;

Operation* Receiver::Receiving(Lane& lane) {
  lane.receive_cursor = std::max(lane.receive_cursor, state_.window().begin());
  for (; lane.receive_cursor < state_.window().end(); ++lane.receive_cursor) {
    Operation* operation = state_.window().Get(lane.receive_cursor);
    if (operation->receives_left[lane.id] > 0) return operation;
  }
  return nullptr;
}

Receiver::Match Receiver::MatchHead(Lane& lane) {
  Operation* operation = Receiving(lane);
  auto header = crypto::DecodeRecordHeader(lane.received().first(crypto::kRecordHeaderSize));
  auto refuse = [&](absl::string_view what, absl::string_view word) {
    const bool decoded = header.ok();
    state_.Raise(absl::StatusCode::kDataLoss, lane.peer, operation, decoded ? header->phase : 0,
                 decoded ? header->chunk : 0, what, word);
    return Match::kFault;
  };
  if (!header.ok()) {
    return refuse(absl::StrCat("malformed record: ", header.status().message()),
                  "RECORD_MALFORMED");
  }
  if (header->suite != state_.config().suite) {
    return refuse("the record is of another suite", "RECORD_MALFORMED");
  }
  if (!std::equal(header->epoch_prefix.begin(), header->epoch_prefix.end(),
                  state_.config().epoch.begin())) {
    return refuse("the record is of another epoch", "RECORD_EPOCH");
  }
  if (header->payload_size > (uint32_t{1} << state_.config().chunk_log2)) {
    return refuse(
        absl::StrCat("a payload of ", header->payload_size, " bytes is larger than a chunk"),
        "RECORD_MALFORMED");
  }
  if (operation == nullptr) return Match::kWait;
  if (header->op == operation->wire_op && header->sequence == operation->sequence &&
      header->operation_digest == operation->program->digest()) {
    return MatchExpected(lane, *operation, *header);
  }
  // Whose record this is can be told once all of it is here: see Refuse().
  lane.head.operation = nullptr;
  lane.head.size = header->payload_size + static_cast<uint32_t>(crypto::kRecordOverhead);
  return Match::kTaken;
}

Receiver::Match Receiver::MatchExpected(Lane& lane, Operation& operation,
                                        const crypto::RecordHeader& header) {
  auto refuse = [&](absl::string_view what, absl::string_view word) {
    state_.Raise(absl::StatusCode::kDataLoss, lane.peer, &operation, header.phase, header.chunk,
                 what, word);
    return Match::kFault;
  };
  auto index =
      operation.plan().FindReceive(header.phase, header.source, header.destination, header.chunk);
  if (!index.ok()) {
    return refuse(absl::StrCat("no record from rank ", header.source, " to rank ",
                               header.destination, " with this phase and chunk is expected"),
                  "RECORD_UNEXPECTED");
  }
  const Step& step = operation.plan().steps[*index];
  if (operation.program->ReceiveLane(step) != lane.id) {
    return refuse("the record came over another lane than the plan's", "RECORD_UNEXPECTED");
  }
  if (operation.HasRun(*index)) {
    return refuse("the record was taken before", "RECORD_REPLAYED");
  }
  const uint32_t previous = operation.program->info(*index).previous;
  if (previous != kNone && !operation.HasRun(previous)) {
    return refuse(absl::StrCat("the record overtook chunk ", operation.plan().steps[previous].chunk,
                               " of its stream"),
                  "RECORD_REORDERED");
  }
  const crypto::RecordHeader expected = operation.HeaderOf(*index, state_.keys());
  if (header != expected) {
    return refuse(
        absl::StrCat("payload ", header.payload_size, ", chunk count ", header.chunk_count,
                     ", last ", header.last, "; expected ", expected.payload_size, ", ",
                     expected.chunk_count, ", ", expected.last),
        "RECORD_UNEXPECTED");
  }
  lane.head.operation = &operation;
  lane.head.step = *index;
  lane.head.size = step.bytes + static_cast<uint32_t>(crypto::kRecordOverhead);
  return Match::kTaken;
}

bool Receiver::MayRun(const Operation& operation, uint32_t step) const {
  return operation.Ready(step) &&
         state_.held().MayHold(operation, step, state_.IsOldest(operation));
}

void Receiver::Place(Operation& operation, uint32_t index, absl::Span<const uint8_t> plaintext) {
  const Step& step = operation.plan().steps[index];
  if (step.bytes == 0) return;
  if (step.reduce) {
    operation.Combine(step, operation.At(step.read, step.bytes), plaintext.data());
  } else {
    std::memcpy(operation.At(step.write, step.bytes), plaintext.data(), step.bytes);
  }
}

std::string Receiver::DescribeBrokenTag(const Operation& operation, const Step& step) const {
  std::string what = "the record's tag does not match";
  if (step.via == step.source) return what;
  const std::vector<uint16_t> ranks = collective::AnswerableFor(operation.plan(), step);
  if (ranks.size() == 1) {
    return absl::StrCat(what, ": ", state_.NameOf(step.source), " sealed it; ",
                        state_.NameOf(step.via), " handed it on, and checks what it hands on");
  }
  absl::StrAppend(&what, ": one of ");
  for (uint16_t rank : ranks) {
    absl::StrAppend(&what, rank == ranks.front() ? "" : ", ", state_.NameOf(rank));
  }
  return absl::StrCat(what, " broke it: the first sealed it for this rank alone, the others ",
                      "handed on what they cannot check");
}

bool Receiver::Open(Lane& lane, Operation& operation, uint32_t index,
                    absl::Span<const uint8_t> record) {
  const Step& step = operation.plan().steps[index];
  const StepInfo& info = operation.program->info(index);
  auto cipher = operation.keys.Get(info.key);
  const absl::Span<uint8_t> plaintext = state_.Scratch(step.bytes);
  absl::Status opened = cipher.status();
  if (cipher.ok()) opened = (*cipher)->Open(record, plaintext);
  if (absl::IsDataLoss(opened)) {
    state_.progress().CountTagFailure();
    state_.Raise(absl::StatusCode::kDataLoss, lane.peer, &operation, step.phase, step.chunk,
                 DescribeBrokenTag(operation, step), "RECORD_TAG");
    return false;
  }
  if (!opened.ok()) {
    state_.Raise(opened.code(), state_.config().rank, &operation, step.phase, step.chunk,
                 absl::StrCat("opening failed: ", opened.message()), "OPEN");
    return false;
  }
  operation.keys.Used(info.key);
  state_.progress().CountOpened(operation.progress, step.bytes);
  Place(operation, index, plaintext);
  return true;
}

bool Receiver::Accept(Lane& lane, absl::Span<const uint8_t> record) {
  Operation& operation = *lane.head.operation;
  const uint32_t index = lane.head.step;
  state_.BeforeStep(operation, index);
  const Step& step = operation.plan().steps[index];
  const StepInfo& info = operation.program->info(index);
  state_.progress().CountReceived(operation.progress, step.bytes);
  // What is only sent on is sealed for another rank, which will judge it.
  const bool opens = step.kind == collective::StepKind::kOpen;
  if (opens && !Open(lane, operation, index, record)) return false;
  if (info.forward != kNone) {
    state_.held().Hold(operation, index, lane, record);
    operation.MakeSendable(index);
  }
  --operation.receives_left[lane.id];
  operation.Ran(index);
  state_.progress().Moved(operation.progress);
  return true;
}

bool Receiver::Parse(Lane& lane) {
  bool moved = false;
  while (lane.received().size() >= crypto::kRecordHeaderSize) {
    if (lane.head.size == 0) {
      const Match match = MatchHead(lane);
      if (match == Match::kFault) return true;
      if (match == Match::kWait) {
        lane.parked_at = state_.progress().change();
        return moved;
      }
    }
    if (lane.received().size() < lane.head.size) return moved;
    const absl::Span<const uint8_t> record = lane.received().first(lane.head.size);
    if (lane.head.operation == nullptr) {
      Refuse(lane, record);
      return true;
    }
    if (!MayRun(*lane.head.operation, lane.head.step)) {
      lane.parked_at = state_.progress().change();
      return moved;
    }
    const size_t size = lane.head.size;
    if (!Accept(lane, record)) return true;
    lane.Consume(size);
    moved = true;
  }
  return moved;
}

bool Receiver::Turn(Lane& lane) {
  bool moved = false;
  if (lane.parked_at != 0 && lane.parked_at != state_.progress().change()) {
    lane.parked_at = 0;
    moved = Parse(lane);
  }
  // Only whole records are progress: a peer that sends byte by byte still has a deadline.
  if (lane.parked_at == 0 && lane.readable && !state_.faulted() && lane.Receive() == Io::kMoved) {
    Parse(lane);
    moved = true;
  }
  // What the peer sent before it left still counts: a lane that cannot send is read to its end.
  const bool ended =
      lane.receive_ended || (lane.send_ended && (lane.parked_at != 0 || lane.failed_here()));
  if (!state_.faulted() && ended) CheckEnded(lane);
  return moved || state_.faulted();
}

void Receiver::CheckEnded(Lane& lane) {
  if (lane.receive_ended && lane.parked_at == 0 && !lane.received().empty()) {
    state_.Raise(absl::StatusCode::kDataLoss, lane.peer, Receiving(lane), 0, 0,
                 absl::StrCat("the connection ended inside a record, after ",
                              lane.received().size(), " bytes of it"),
                 "RECORD_TRUNCATED");
    return;
  }
  for (uint64_t id = state_.window().begin(); id < state_.window().end(); ++id) {
    const Operation* operation = state_.window().Get(id);
    const bool receives = operation->receives_left[lane.id] > 0 && lane.received().empty();
    if (!(lane.receive_ended && receives) && operation->unsent[lane.id] == 0) continue;
    const std::string peer = state_.NameOf(lane.peer);
    state_.Raise(
        absl::StatusCode::kUnavailable, lane.peer, operation, 0, 0,
        lane.failed_here()
            ? absl::StrCat("the connection with ", peer, " failed at ",
                           state_.NameOf(state_.config().rank), ": ", std::strerror(lane.error))
            : absl::StrCat(peer, " left the communicator: its connection is closed"),
        lane.failed_here() ? "CONNECTION_FAILED" : "PEER_CLOSED");
    return;
  }
}

bool Receiver::IsPast(const Lane& lane, const crypto::RecordHeader& header) const {
  const auto send = static_cast<uint8_t>(collective::Operation::kSend);
  uint64_t first = header.op == send ? state_.sequences().next_receive(lane.peer)
                                     : state_.sequences().next_collective();
  for (uint64_t id = lane.receive_cursor; id < state_.window().end(); ++id) {
    const Operation* operation = state_.window().Get(id);
    const collective::OperationSpec& spec = operation->plan().spec;
    const bool same = header.op == send
                          ? spec.op == collective::Operation::kRecv && spec.peer == lane.peer
                          : operation->wire_op != send;
    if (same) first = std::min(first, operation->sequence);
  }
  return header.sequence < first;
}

bool Receiver::IsAuthentic(const crypto::RecordHeader& header, absl::Span<const uint8_t> record) {
  KeySlot slot;
  slot.source = header.source;
  slot.destination = header.destination;
  slot.phase = header.phase;
  slot.superchunk = crypto::SuperchunkOf(header.chunk, state_.config().chunk_log2);
  auto cipher = state_.keys().Derive(slot, header.op, header.sequence);
  if (!cipher.ok()) return false;
  return (*cipher)->Open(record, state_.Scratch(header.payload_size)).ok();
}

void Receiver::Refuse(Lane& lane, absl::Span<const uint8_t> record) {
  const crypto::RecordHeader header =
      *crypto::DecodeRecordHeader(record.first(crypto::kRecordHeaderSize));
  const Operation& operation = *Receiving(lane);
  const auto send = static_cast<uint8_t>(collective::Operation::kSend);
  auto raise = [&](absl::StatusCode code, absl::string_view what, absl::string_view word) {
    state_.Raise(code, lane.peer, &operation, header.phase, header.chunk, what, word);
  };
  const std::string claim =
      absl::StrCat(std::string(Name(static_cast<collective::Operation>(header.op))), " sequence ",
                   header.sequence, " from rank ", header.source);
  const bool passes =
      header.destination != crypto::kEveryDestination && header.destination != state_.config().rank;
  if (passes) {
    raise(absl::StatusCode::kDataLoss,
          absl::StrCat("a record that claims to be ", claim, " to rank ", header.destination,
                       ", sealed for that rank alone, is not one to be sent on here: a rank ran "
                       "another operation, or the record was moved"),
          "RECORD_UNEXPECTED");
  } else if (!IsAuthentic(header, record)) {
    state_.progress().CountTagFailure();
    raise(absl::StatusCode::kDataLoss,
          absl::StrCat("a record that claims to be ", claim, " has a tag that does not match"),
          "RECORD_TAG");
  } else if (IsPast(lane, header)) {
    raise(absl::StatusCode::kDataLoss,
          absl::StrCat("a record of ", claim,
                       ", which has ended here: it was taken before, or the ranks called that "
                       "operation differently, with another root say"),
          "RECORD_REPLAYED");
  } else if ((header.op == send) != (operation.wire_op == send) ||
             header.sequence == operation.sequence) {
    raise(absl::StatusCode::kInvalidArgument,
          absl::StrCat(state_.NameOf(lane.peer), " runs another operation (", claim,
                       "): all ranks must submit the same operations with the same sizes and "
                       "types in the same order"),
          "OPERATION_MISMATCH");
    state_.TellMismatch();
  } else {
    raise(absl::StatusCode::kDataLoss, absl::StrCat("a record of ", claim, " is out of order"),
          "RECORD_UNEXPECTED");
  }
}

}  // namespace caravan::engine
