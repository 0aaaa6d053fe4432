// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/membership.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/membership/epoch.h"

namespace caravan::membership {
namespace {

// A reason has to fit the ring that the application reads (shared_ring.h), with room to spare.
constexpr size_t kMaxReason = 1536;

}  // namespace

std::string Shortened(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "…");
}

absl::Status ToStatus(const v1::FaultReport& report) {
  bool known = report.code() >= 1 && report.code() <= 16;
  return absl::Status(
      known ? static_cast<absl::StatusCode>(report.code()) : absl::StatusCode::kInternal,
      Shortened(report.message(), kMaxReason));
}

v1::FaultReport MakeReport(const absl::Status& status, uint16_t rank, uint16_t peer) {
  v1::FaultReport report;
  report.set_code(static_cast<uint32_t>(status.code()));
  report.set_rank(rank);
  report.set_peer(peer);
  report.set_message(Shortened(status.message(), kMaxReason));
  return report;
}

Membership::Membership(v1::Roster roster, uint16_t rank, const crypto::EpochId& epoch,
                       crypto::SecretBytes secret)
    : roster_(std::move(roster)),
      epoch_(epoch),
      rank_(rank),
      secret_(std::move(secret)),
      pairs_(roster_.members_size()) {
  for (Pair& pair : pairs_) pair.lanes.resize(roster_.lanes());
}

std::string Membership::Name(uint16_t rank) const { return RankName(roster_, rank); }

std::optional<uint16_t> Membership::RankOf(const crypto::Sha256Digest& spki) const {
  std::string wanted = ToBytes(spki);
  for (const v1::Member& member : roster_.members()) {
    if (member.spki() == wanted) return static_cast<uint16_t>(member.rank());
  }
  return std::nullopt;
}

absl::Status Membership::EndedLocked() const {
  if (decided_.has_value()) return ToStatus(*decided_);
  if (secret_.empty()) return absl::FailedPreconditionError("the epoch is assembled already");
  return absl::OkStatus();
}

absl::StatusOr<std::string> Membership::OwnMac(uint16_t peer) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = EndedLocked(); !status.ok()) return status;
  auto mac = crypto::ConfirmMac(secret_, epoch_, rank_, peer);
  if (!mac.ok()) return mac.status();
  return ToBytes(*mac);
}

absl::Status Membership::ConfirmPair(std::shared_ptr<session::Session> session, uint16_t peer,
                                     absl::string_view mac) {
  auto denied = [&](absl::string_view what) {
    return absl::PermissionDeniedError(absl::StrCat("confirmation of ", Name(peer), ": ", what));
  };
  if (peer >= size() || peer == rank_) {
    return absl::InvalidArgumentError(absl::StrCat("source: rank ", peer, " is no peer here"));
  }
  if (ToBytes(session->peer_spki()) != roster_.members(peer).spki()) {
    return denied("the session is with another node");
  }
  // With the root, the pair's session is the one over which the member joined.
  uint16_t higher = std::max(peer, rank_);
  if (std::min(peer, rank_) == 0 &&
      ToBytes(session->id()) != roster_.members(higher).root_session()) {
    return denied("the session is not the one that the roster names");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = EndedLocked(); !status.ok()) return status;
  auto expected = crypto::ConfirmMac(secret_, epoch_, peer, rank_);
  if (!expected.ok()) return expected.status();
  if (!crypto::ConstantTimeEquals(*expected, crypto::AsBytes({mac.data(), mac.size()}))) {
    return denied("it does not hold this epoch's secret");
  }
  if (pairs_[peer].session != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(Name(peer), " has confirmed this epoch already"));
  }
  pairs_[peer].session = std::move(session);
  changed_.notify_all();
  return absl::OkStatus();
}

bool Membership::ExpectsLane(const crypto::SessionId& session) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (decided_.has_value()) return false;
  for (uint16_t peer = 0; peer < rank_; ++peer) {
    const Pair& pair = pairs_[peer];
    if (pair.session == nullptr || pair.session->id() != session) continue;
    return pair.lanes_here < roster_.lanes();
  }
  return false;
}

absl::Status Membership::AddLane(transport::DataConnection lane) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = EndedLocked(); !status.ok()) return status;
  for (Pair& pair : pairs_) {
    if (pair.session == nullptr || pair.session->id() != lane.session) continue;
    if (lane.lane >= pair.lanes.size() || pair.lanes[lane.lane].fd >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("lane ", lane.lane, " is not expected"));
    }
    uint16_t number = lane.lane;
    pair.lanes[number] = std::move(lane);
    ++pair.lanes_here;
    changed_.notify_all();
    return absl::OkStatus();
  }
  return absl::NotFoundError("no confirmed pair of this epoch has the lane's session");
}

std::string Membership::MissingLocked() const {
  for (uint16_t peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    if (pairs_[peer].session == nullptr) {
      return absl::StrCat(Name(peer), " and ", Name(rank_), " have not confirmed the epoch");
    }
    if (pairs_[peer].lanes_here < roster_.lanes()) {
      return absl::StrCat(pairs_[peer].lanes_here, " of ", roster_.lanes(), " lanes between ",
                          Name(peer), " and ", Name(rank_), " are connected");
    }
  }
  return "";
}

absl::Status Membership::WaitAssembled(absl::Time deadline) {
  Cancellation::Hook wake(cancellation_, [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (absl::Status status = EndedLocked(); !status.ok()) return status;
    std::string missing = MissingLocked();
    if (missing.empty()) return absl::OkStatus();
    absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(Name(rank_), ": timed out: ", missing));
    }
    changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Seconds(1))));
  }
}

absl::Status Membership::FillGroup(engine::GroupConfig* group) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = EndedLocked(); !status.ok()) return status;
  group->epoch = epoch_;
  group->name = roster_.communicator();
  group->rank = rank_;
  group->size = size();
  group->suite = static_cast<crypto::Suite>(roster_.suite());
  group->chunk_log2 = roster_.chunk_log2();
  auto own = crypto::SenderParent(secret_, epoch_, rank_);
  if (!own.ok()) return own.status();
  group->sender_parent = *std::move(own);
  for (uint16_t rank = 0; rank < size(); ++rank) {
    if (rank == rank_) continue;
    Pair& pair = pairs_[rank];
    const session::Session& session = *pair.session;
    auto out = crypto::PairParent(session.secret(), secret_, epoch_, session.id(), rank_, rank);
    if (!out.ok()) return out.status();
    auto in = crypto::PairParent(session.secret(), secret_, epoch_, session.id(), rank, rank_);
    if (!in.ok()) return in.status();
    auto sender = crypto::SenderParent(secret_, epoch_, rank);
    if (!sender.ok()) return sender.status();
    engine::Peer peer;
    peer.rank = rank;
    peer.name = roster_.members(rank).node();
    peer.pair_parent_out = *std::move(out);
    peer.pair_parent_in = *std::move(in);
    peer.sender_parent = *std::move(sender);
    peer.lanes = std::move(pair.lanes);
    // The keys are made: a session that was replaced may close.
    pair = Pair();
    group->peers.push_back(std::move(peer));
  }
  secret_ = crypto::SecretBytes();
  return absl::OkStatus();
}

v1::FaultReport Membership::Decide(const v1::FaultReport& report, bool* first) {
  v1::FaultReport decided;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    *first = !decided_.has_value();
    if (*first) {
      decided_ = report;
      decided_->set_message(Shortened(report.message(), kMaxReason));
      secret_ = crypto::SecretBytes();
      for (Pair& pair : pairs_) pair = Pair();
    }
    decided = *decided_;
  }
  if (*first) cancellation_.Cancel(ToStatus(decided));
  return decided;
}

std::optional<v1::FaultReport> Membership::decided() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return decided_;
}

}  // namespace caravan::membership
