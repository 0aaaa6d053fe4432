// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/group_state.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

GroupState::GroupState(GroupConfig config, const EngineOptions& options)
    : config_(std::move(config)),
      islands_{config_.size, static_cast<int>(config_.local.size())},
      held_((size_t{1} << config_.chunk_log2) + crypto::kRecordOverhead),
      scratch_(AllocateAligned(size_t{1} << config_.chunk_log2)),
      sequences_(config_.size),
      step_hook_(options.step_hook) {
  keys_.factory = options.ciphers;
  keys_.epoch = config_.epoch;
  keys_.suite = config_.suite;
  keys_.chunk_log2 = config_.chunk_log2;
  keys_.rank = config_.rank;
  keys_.sender = std::move(config_.sender_parent);
  keys_.peers.resize(config_.size);
  for (Peer& peer : config_.peers) {
    keys_.peers[peer.rank] = {std::move(peer.pair_parent_out), std::move(peer.pair_parent_in),
                              std::move(peer.sender_parent)};
    lanes_per_peer_ = static_cast<uint32_t>(peer.lanes.size());
    for (uint32_t i = 0; i < peer.lanes.size(); ++i) {
      lanes_.push_back(std::make_unique<Lane>(peer.lanes[i].Release(), peer.rank,
                                              peer.rank * lanes_per_peer_ + i, held_.record_size(),
                                              &held_.pool()));
    }
    peer.lanes.clear();
  }
}

GroupState::~GroupState() {
  crypto::Wipe({scratch_.get(), size_t{1} << config_.chunk_log2});
  for (const LocalRank& local : config_.local) {
    if (local.wake_fd >= 0) close(local.wake_fd);
  }
}

std::string GroupState::NameOf(uint16_t rank) const {
  for (const Peer& peer : config_.peers) {
    if (peer.rank == rank && !peer.name.empty()) {
      return absl::StrCat(RanksOf(rank), " (", peer.name, ")");
    }
  }
  return RanksOf(rank);
}

std::string GroupState::RanksOf(uint16_t rank) const {
  if (islands_.local == 1) return absl::StrCat("rank ", rank);
  const int first = rank * islands_.local;
  return absl::StrCat("ranks ", first, "-", first + islands_.local - 1);
}

void GroupState::Raise(absl::StatusCode code, uint16_t peer, const Operation* operation,
                       uint16_t phase, uint32_t chunk, absl::string_view what,
                       absl::string_view word) {
  if (fault_.has_value()) return;
  Fault f;
  f.code = code;
  f.rank = config_.rank;
  f.peer = peer;
  f.phase = phase;
  f.chunk = chunk;
  std::string where = absl::StrCat("communicator \"", config_.name, "\": ", RanksOf(config_.rank),
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
  fault_ = std::move(f);
}

void GroupState::TellWait(absl::Duration waited, std::vector<uint16_t> waits_for) {
  fault_->waited = waited;
  fault_->waits_for = std::move(waits_for);
}

void GroupState::Sent(const Lane& lane, const Segment& segment) {
  Operation& operation = *segment.operation;
  const bool forwarded = segment.owner == Segment::Owner::kForward;
  progress_.CountSent(operation.progress, segment.payload, forwarded);
  --operation.sends_left;
  --operation.unsent[lane.id];
  if (segment.owner != Segment::Owner::kLane && held_.Sent(segment)) progress_.Changed();
}

uint64_t GroupState::memory_bytes() const {
  uint64_t bytes = held_.bytes() + (uint64_t{1} << config_.chunk_log2);
  for (uint64_t id = window_.begin(); id < window_.end(); ++id) {
    bytes += window_.Get(id)->plan().scratch_bytes;
  }
  return bytes;
}

}  // namespace caravan::engine
