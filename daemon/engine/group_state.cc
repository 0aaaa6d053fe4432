// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/group_state.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {
namespace {

// Records for several peers that may be on their way at once.
constexpr uint32_t kSharedBuffers = 8;

}  // namespace

GroupState::GroupState(GroupConfig group_config, const EngineOptions& options)
    : config(std::move(group_config)),
      islands{config.size, static_cast<int>(config.local.size())},
      pool((size_t{1} << config.chunk_log2) + crypto::kRecordOverhead),
      shared_budget(kSharedBuffers),
      forward_budget(0),
      scratch(AllocateAligned(size_t{1} << config.chunk_log2)),
      step_hook(options.step_hook) {
  keys.factory = options.ciphers;
  keys.epoch = config.epoch;
  keys.suite = config.suite;
  keys.chunk_log2 = config.chunk_log2;
  keys.rank = config.rank;
  keys.sender = std::move(config.sender_parent);
  keys.peers.resize(config.size);
  next_send.assign(config.size, 0);
  next_receive.assign(config.size, 0);
  for (Peer& peer : config.peers) {
    keys.peers[peer.rank] = {std::move(peer.pair_parent_out), std::move(peer.pair_parent_in),
                             std::move(peer.sender_parent)};
    lanes_per_peer = static_cast<uint32_t>(peer.lanes.size());
    for (uint32_t i = 0; i < peer.lanes.size(); ++i) {
      lanes.push_back(std::make_unique<Lane>(peer.lanes[i].Release(), peer.rank,
                                             peer.rank * lanes_per_peer + i, pool.block_size(),
                                             &pool));
    }
    peer.lanes.clear();
  }
  if (lanes_per_peer == 0) lanes_per_peer = 1;
}

GroupState::~GroupState() {
  crypto::Wipe({scratch.get(), size_t{1} << config.chunk_log2});
  for (const LocalRank& local : config.local) {
    if (local.wake_fd >= 0) close(local.wake_fd);
  }
}

std::string GroupState::NameOf(uint16_t rank) const {
  for (const Peer& peer : config.peers) {
    if (peer.rank == rank && !peer.name.empty()) {
      return absl::StrCat(RanksOf(rank), " (", peer.name, ")");
    }
  }
  return RanksOf(rank);
}

std::string GroupState::RanksOf(uint16_t rank) const {
  if (islands.local == 1) return absl::StrCat("rank ", rank);
  const int first = rank * islands.local;
  return absl::StrCat("ranks ", first, "-", first + islands.local - 1);
}

void GroupState::Raise(absl::StatusCode code, uint16_t peer, const Operation* operation,
                       uint16_t phase, uint32_t chunk, absl::string_view what,
                       absl::string_view word) {
  if (fault.has_value()) return;
  Fault f;
  f.code = code;
  f.rank = config.rank;
  f.peer = peer;
  f.phase = phase;
  f.chunk = chunk;
  std::string where = absl::StrCat("communicator \"", config.name, "\": ", RanksOf(config.rank),
                                   ", peer ", NameOf(peer));
  if (operation != nullptr) {
    f.sequence = operation->sequence;
    const collective::Counters& planned = operation->plan().counters;
    const collective::Counters& counted = operation->progress.counted();
    f.bytes_done = counted.sent + counted.received;
    absl::StrAppend(&where, ", ", operation->plan().spec.Describe(), ", sequence ", f.sequence,
                    ", phase ", phase, ", chunk ", chunk, ", ", f.bytes_done, " of ",
                    planned.sent + planned.received, " bytes done");
  } else {
    absl::StrAppend(&where, ", no operation outstanding");
  }
  f.message = absl::StrCat(where, ": ", what, " [", word, "]");
  fault = std::move(f);
}

void GroupState::Sent(const Lane& lane, const Segment& segment) {
  Operation& operation = *segment.operation;
  const bool forwarded = segment.owner == Segment::Owner::kForward;
  progress.CountSent(operation.progress, segment.payload, forwarded);
  --operation.sends_left;
  --operation.unsent[lane.id];
  if (segment.owner == Segment::Owner::kLane) return;
  WireBuffer* buffer = segment.buffer;
  if (--buffer->users > 0) return;
  const StepInfo& info = operation.program->info(segment.step);
  if (segment.owner == Segment::Owner::kShared) {
    operation.shared[info.shared] = nullptr;
    shared_budget.Put();
  } else {
    operation.forwards[info.forward] = nullptr;
    --operation.forwards_held[operation.plan().steps[segment.step].slot_class];
    forward_budget.Put();
  }
  pool.Put(buffer);
  progress.Changed();
}

uint64_t GroupState::memory_bytes() const {
  uint64_t bytes = pool.bytes() + (uint64_t{1} << config.chunk_log2);
  for (uint64_t id = window.begin(); id < window.end(); ++id) {
    bytes += window.Get(id)->plan().scratch_bytes;
  }
  return bytes;
}

}  // namespace caravan::engine
