// SPDX-License-Identifier: Apache-2.0
//
// The life of one connection as its manager sees it: dialled or accepted, known, established or
// refused, ended.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/sockets.h"
#include "daemon/session/reasons.h"
#include "daemon/session/session_manager_impl.h"
#include "daemon/session/tcp.h"

namespace caravan::session {
namespace {

using absl::StatusCode;

absl::Status Crossed() {
  return Refusal(StatusCode::kAborted, kCrossing,
                 "another connection between the same two nodes stays");
}

absl::Status TooMany(size_t open, size_t limit) {
  return Refusal(StatusCode::kResourceExhausted, kSessions,
                 absl::StrCat(open, " sessions are open, at most ", limit));
}

bool PeerFailed(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  return reason != kClosed && reason != kLost && reason != kCrossing && reason != kTlsLocal &&
         reason != kSessions && !reason.empty();
}

}  // namespace

absl::Status ManagerImpl::RunConnection(Link& link) {
  if (link.role == crypto::Role::kInitiator) {
    const base::SteadyTime deadline =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.handshake_timeout);
    absl::StatusOr<base::Descriptor> socket =
        base::Connect(link.address, deadline, link.close->fd(), TuneConnection);
    if (!socket.ok()) {
      const absl::Status late =
          Refusal(StatusCode::kDeadlineExceeded, kDeadline, socket.status().message());
      return link.close->reason().value_or(
          absl::IsDeadlineExceeded(socket.status()) ? late : socket.status());
    }
    link.socket = *std::move(socket);
  }
  ConnectionOptions options;
  options.role = link.role;
  options.peer_address = link.address;
  options.tls = tls_.get();
  options.credentials = &credentials_;
  options.handshake_timeout = options_.handshake_timeout;
  options.reattest_every = options_.reattest_every;
  options.replace_every = options_.replace_every;
  options.drain_idle = std::min(options_.drain_idle, options_.replace_every);
  options.drain_limit = options_.drain_limit;
  options.clock = options_.clock;
  options.replaces = link.replaces;
  options.replaced_secret = std::move(link.replaced_secret);
  return Connection(std::move(options), std::move(link.socket), link.close, link).Run();
}

void ManagerImpl::RunLink(Link& link) {
  const absl::Status status = RunConnection(link);
  Finish(link, status);
  std::lock_guard<std::mutex> lock(mutex_);
  link.done = true;
  changed_.notify_all();
}

void ManagerImpl::Finish(Link& link, const absl::Status& status) {
  SessionPtr closed;
  bool refused = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (link.half_open && link.role == crypto::Role::kResponder) gate_.Leave(link.source);
    refused = link.half_open && ReasonOf(status) != kCrossing && !stopped_;
    link.half_open = false;
    closed = std::exchange(link.session, nullptr);
    const auto open = std::find(sessions_.begin(), sessions_.end(), closed);
    if (open != sessions_.end()) sessions_.erase(open);
    // A peer that failed re-attestation, or broke the protocol, is not what it was: that holds for
    // its older sessions as well.
    if (closed != nullptr && !link.close->reason().has_value() && PeerFailed(status)) {
      for (const SessionPtr& other : sessions_) {
        if (other->peer_spki() == closed->peer_spki()) other->Close(status);
      }
    }
  }
  if (closed != nullptr && options_.on_closed) options_.on_closed(closed);
  if (refused && options_.on_refused) options_.on_refused(link.address, status);

  std::lock_guard<std::mutex> lock(mutex_);
  if (link.wait != nullptr && !link.wait->done) {
    if (ReasonOf(status) == kCrossing && link.peer.has_value()) {
      link.wait->crossing_peer = link.peer;
    } else {
      ResolveLocked(*link.wait, status);
    }
  }
  SettleCrossingLocked();
}

SessionPtr ManagerImpl::NewestLocked(const std::function<bool(const SessionImpl&)>& fits) const {
  for (auto session = sessions_.rbegin(); session != sessions_.rend(); ++session) {
    if (!(*session)->draining() && (*session)->status().ok() && fits(**session)) return *session;
  }
  return nullptr;
}

absl::Status ManagerImpl::RoomLocked() const {
  const size_t limit = static_cast<size_t>(options_.max_sessions);
  return sessions_.size() < limit ? absl::OkStatus() : TooMany(sessions_.size(), limit);
}

void ManagerImpl::MakeRoomLocked(const crypto::Sha256Digest& peer) {
  int open = 0;
  SessionPtr oldest;
  for (const SessionPtr& session : sessions_) {
    if (session->peer_spki() != peer || !session->status().ok()) continue;
    ++open;
    if (oldest == nullptr && session->draining()) oldest = session;
  }
  if (open < options_.max_sessions_per_peer || oldest == nullptr) return;
  oldest->Close(Refusal(StatusCode::kCancelled, kClosed, "newer sessions have taken over"));
}

void ManagerImpl::ResolveLocked(DialWait& wait, absl::StatusOr<std::shared_ptr<Session>> result) {
  if (wait.done) return;
  wait.done = true;
  wait.status = result.status();
  if (result.ok()) wait.session = *std::move(result);
  for (auto dial = dials_.begin(); dial != dials_.end(); ++dial) {
    if (dial->second.get() != &wait) continue;
    dials_.erase(dial);  // `wait` itself is held by those who wait
    break;
  }
  changed_.notify_all();
}

void ManagerImpl::SettleCrossingLocked() {
  std::vector<std::shared_ptr<DialWait>> waits;
  for (const auto& [address, wait] : dials_) {
    if (wait->crossing_peer.has_value()) waits.push_back(wait);
  }
  for (const std::shared_ptr<DialWait>& wait : waits) {
    const crypto::Sha256Digest& peer = *wait->crossing_peer;
    SessionPtr session =
        NewestLocked([&peer](const SessionImpl& s) { return s.peer_spki() == peer; });
    // A connection whose TLS is not complete yet may be the one that stays.
    const bool coming = std::any_of(links_.begin(), links_.end(), [&peer](const auto& link) {
      return link->half_open && link->peer.value_or(peer) == peer;
    });
    if (session != nullptr) {
      ResolveLocked(*wait, std::shared_ptr<Session>(session));
    } else if (!coming) {
      ResolveLocked(*wait, absl::UnavailableError(
                               "the peer's own connection was to stay, and failed: try again"));
    }
  }
}

absl::Status Link::OnPeerKnown(const crypto::Sha256Digest& known) {
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  peer = known;
  // Before evidence is made; what comes meanwhile is counted again once it is established.
  if (absl::Status status = manager_.RoomLocked(); !status.ok()) return status;
  const auto with_peer =
      std::count_if(manager_.links_.begin(), manager_.links_.end(),
                    [&known](const auto& other) { return !other->done && other->peer == known; });
  // This one counts; those that give way take a moment.
  const size_t limit = 2 * static_cast<size_t>(manager_.options_.max_sessions_per_peer);
  if (static_cast<size_t>(with_peer) > limit) {
    return TooMany(static_cast<size_t>(with_peer) - 1, limit);
  }
  if (replaces.has_value()) return absl::OkStatus();
  const bool stays = manager_.Stays(role, known);
  for (const std::unique_ptr<Link>& other : manager_.links_) {
    if (other.get() == this || other->done || other->role == role || other->peer != known ||
        other->replaces.has_value()) {
      continue;
    }
    if (!other->half_open && (other->session == nullptr || other->session->draining())) continue;
    // An open session is not cut off here: it drains once this connection is established.
    if (!stays) return Crossed();
    if (other->half_open) other->close->Close(Crossed());
  }
  return absl::OkStatus();
}

absl::Status Link::OnEstablished(SessionPtr established,
                                 std::optional<crypto::SessionId> replaced) {
  std::vector<SessionPtr> drained;
  {
    std::lock_guard<std::mutex> lock(manager_.mutex_);
    if (manager_.stopped_) return absl::CancelledError("the session manager stops");
    if (absl::Status status = manager_.RoomLocked(); !status.ok()) return status;
    for (const SessionPtr& other : manager_.sessions_) {
      if (other->peer_spki() != *peer || other->draining() || !other->status().ok()) continue;
      const bool crosses =
          other->role() != role && (!replaced.has_value() || other->id() != *replaced);
      if (crosses && replaced.has_value()) continue;
      if (crosses && !manager_.Stays(role, *peer)) return Crossed();
      // Who dials again has lost the session before, or means to replace it.
      drained.push_back(other);
    }
    for (const SessionPtr& old : drained) old->SetDraining();
    manager_.MakeRoomLocked(*peer);
    if (role == crypto::Role::kResponder) manager_.gate_.Leave(source);
    half_open = false;
    session = established;
    manager_.sessions_.push_back(established);
  }
  const ManagerOptions& options = manager_.options_;
  if (options.on_established) options.on_established(established);
  if (options.on_replaced) {
    for (const SessionPtr& old : drained) options.on_replaced(old, established);
  }
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  if (wait != nullptr) manager_.ResolveLocked(*wait, std::shared_ptr<Session>(established));
  wait.reset();  // it holds the session
  manager_.SettleCrossingLocked();
  return absl::OkStatus();
}

void Link::OnReplaceDue() {
  absl::StatusOr<crypto::SecretBytes> secret = session->secret().Clone();
  if (!secret.ok()) return;  // tried again at the next due time
  auto link = std::make_unique<Link>(manager_);
  link->address = address;
  link->replaces = session->id();
  link->replaced_secret = *std::move(secret);
  absl::Status status = manager_.Spawn(std::move(link)).status();
  if (!status.ok() && manager_.options_.on_refused) manager_.options_.on_refused(address, status);
}

bool Link::IsHeld(const SessionPtr& of) {
  // The connection, this link, and the list of sessions.
  constexpr long kOwn = 3;
  return of.use_count() > kOwn;
}

absl::StatusOr<base::SteadyTime> Link::TakeEvidenceToken(base::SteadyTime latest) {
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  std::optional<base::SteadyTime> when =
      manager_.budget_.Take(std::chrono::steady_clock::now(), latest);
  if (when.has_value()) return *when;
  return Refusal(StatusCode::kResourceExhausted, kEvidenceRate,
                 absl::StrCat("more than ", manager_.options_.evidence_per_second,
                              " pieces of evidence a second are asked for: try again later"));
}

absl::StatusOr<crypto::SecretBytes> Link::FindReplaced(const crypto::Sha256Digest& of_peer,
                                                       const crypto::SessionId& id) {
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  for (const SessionPtr& open : manager_.sessions_) {
    if (open->id() == id && open->peer_spki() == of_peer && !open->draining() &&
        open->status().ok()) {
      return open->secret().Clone();
    }
  }
  return absl::NotFoundError("no such open session");
}

}  // namespace caravan::session
