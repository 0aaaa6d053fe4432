// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <poll.h>

#include "absl/strings/str_cat.h"
#include "daemon/session/admission.h"
#include "daemon/session/connection.h"
#include "daemon/session/reasons.h"
#include "daemon/session/session.h"
#include "daemon/session/session_impl.h"
#include "daemon/session/sockets.h"

namespace caravan::session {
namespace {

using absl::StatusCode;
using SessionPtr = std::shared_ptr<SessionImpl>;

absl::Status Crossed() {
  return Refusal(StatusCode::kAborted, kCrossing,
                 "another connection between the same two nodes stays");
}

bool PeerFailed(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  return reason != kClosed && reason != kLost && reason != kCrossing && !reason.empty();
}

// A Connect() under way, shared by all callers that wait for the same address.
struct DialWait {
  bool done = false;
  absl::Status status;
  std::shared_ptr<Session> session;
  // The peer turned out to be the other end of a crossing connection: that one is waited for.
  std::optional<crypto::Sha256Digest> crossing_peer;
};

class ManagerImpl;

// One connection with its thread. Fields are guarded by the manager's mutex, except those that
// are set before the thread starts.
class Link final : public ConnectionHost {
 public:
  explicit Link(ManagerImpl& manager) : manager_(manager) {}

  absl::Status OnPeerKnown(const crypto::Sha256Digest& peer) override;
  absl::Status OnEstablished(SessionPtr session,
                             std::optional<crypto::SessionId> replaced) override;
  void OnReplaceDue() override;
  absl::StatusOr<SteadyTime> TakeEvidenceToken(SteadyTime latest) override;
  absl::StatusOr<crypto::SecretBytes> FindReplaced(const crypto::Sha256Digest& peer,
                                                   const crypto::SessionId& id) override;

  // Set before the thread starts.
  crypto::Role role = crypto::Role::kInitiator;
  std::string address;                // as dialled or accepted
  std::string source;                 // accepted: the host alone
  Descriptor socket;                  // accepted
  std::shared_ptr<CloseRequest> close;
  std::shared_ptr<DialWait> wait;     // dialled by Connect()
  std::optional<crypto::SessionId> replaces;
  crypto::SecretBytes replaced_secret;

  // Guarded.
  std::thread thread;
  bool done = false;
  bool half_open = true;
  std::optional<crypto::Sha256Digest> peer;
  SessionPtr session;

 private:
  ManagerImpl& manager_;
};

class ManagerImpl final : public SessionManager {
 public:
  explicit ManagerImpl(ManagerOptions options)
      : options_(std::move(options)),
        gate_(options_.max_half_open, options_.max_half_open_per_source),
        budget_(options_.evidence_per_second) {}
  ~ManagerImpl() override { Stop(); }

  absl::Status Open();

  int port() const override { return port_; }
  const crypto::Sha256Digest& local_spki() const override { return identity_->spki_hash(); }
  absl::StatusOr<std::shared_ptr<Session>> Connect(const std::string& address,
                                                   absl::Time deadline) override;
  std::shared_ptr<Session> Find(const crypto::SessionId& id) const override;
  std::shared_ptr<Session> FindPeer(const crypto::Sha256Digest& spki) const override;
  std::vector<std::shared_ptr<Session>> List() const override;
  void Stop() override;

 private:
  friend class Link;

  void RunListener();
  void Accept();
  void Reap();
  absl::StatusOr<Link*> Spawn(std::unique_ptr<Link> link);  // takes mutex_
  void RunLink(Link& link);
  absl::Status RunConnection(Link& link);
  void Finish(Link& link, const absl::Status& status);

  bool LocalIsLower(const crypto::Sha256Digest& peer) const { return local_spki() < peer; }
  // Of two connections with `peer` dialled by different ends, does this one stay?
  bool Stays(crypto::Role role, const crypto::Sha256Digest& peer) const {
    return (role == crypto::Role::kInitiator) == LocalIsLower(peer);
  }
  SessionPtr NewestLocked(const std::function<bool(const SessionImpl&)>& fits) const;
  void ResolveLocked(DialWait& wait, absl::StatusOr<std::shared_ptr<Session>> result);
  // Answers those whose connection gave way to a crossing one, once that one is there or lost.
  void SettleCrossingLocked();

  ManagerOptions options_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<TlsContext> tls_;
  Descriptor listener_;
  int port_ = 0;
  std::shared_ptr<CloseRequest> stop_;
  std::thread listener_thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  HalfOpenGate gate_;
  EvidenceBudget budget_;
  std::list<std::unique_ptr<Link>> links_;
  std::vector<SessionPtr> sessions_;  // open, oldest first
  std::map<std::string, std::shared_ptr<DialWait>> dials_;
  std::mutex stop_mutex_;  // one Stop() at a time joins
};

absl::Status ManagerImpl::Open() {
  if (options_.attester == nullptr || options_.appraiser == nullptr || !options_.clock ||
      options_.offer.size() > kMaxOfferSize || options_.max_half_open < 1 ||
      options_.max_half_open_per_source < 1 ||
      options_.handshake_timeout <= absl::ZeroDuration() ||
      options_.reattest_every <= absl::ZeroDuration() ||
      options_.replace_every <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("session manager options: an attester, an appraiser and a clock are needed, "
                     "the offer has at most ",
                     kMaxOfferSize, " bytes, limits and durations are positive"));
  }
  absl::StatusOr<std::unique_ptr<Identity>> identity = Identity::Create();
  if (!identity.ok()) return identity.status();
  identity_ = *std::move(identity);
  absl::StatusOr<std::unique_ptr<TlsContext>> tls = TlsContext::Create(*identity_);
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  absl::StatusOr<std::shared_ptr<CloseRequest>> stop = CloseRequest::Create();
  if (!stop.ok()) return stop.status();
  stop_ = *std::move(stop);
  absl::StatusOr<Descriptor> listener = Listen(options_.listen_address, &port_);
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  listener_thread_ = std::thread([this] { RunListener(); });
  return absl::OkStatus();
}

void ManagerImpl::RunListener() {
  while (!stop_->reason().has_value()) {
    pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {stop_->fd(), POLLIN, 0}};
    poll(fds, 2, 1000);
    if (fds[0].revents != 0) Accept();
    Reap();
  }
}

void ManagerImpl::Accept() {
  auto link = std::make_unique<Link>(*this);
  absl::StatusOr<Descriptor> socket = AcceptOne(listener_.get(), &link->address, &link->source);
  if (!socket.ok()) {
    if (options_.on_refused) options_.on_refused(options_.listen_address, socket.status());
    // Descriptors have run out: the connection stays in the backlog, so don't spin on it.
    pollfd fd{stop_->fd(), POLLIN, 0};
    poll(&fd, 1, 100);
    return;
  }
  if (!socket->open()) return;
  link->role = crypto::Role::kResponder;
  link->socket = *std::move(socket);
  const std::string address = link->address;
  absl::Status status = Spawn(std::move(link)).status();
  if (!status.ok() && options_.on_refused) options_.on_refused(address, status);
}

absl::StatusOr<Link*> ManagerImpl::Spawn(std::unique_ptr<Link> link) {
  absl::StatusOr<std::shared_ptr<CloseRequest>> close = CloseRequest::Create();
  if (!close.ok()) return close.status();
  link->close = *std::move(close);
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return absl::CancelledError("the session manager is stopped");
  const bool counted = link->role == crypto::Role::kResponder;
  if (counted) {
    if (absl::Status status = gate_.Enter(link->source); !status.ok()) return status;
  }
  Link* raw = link.get();
  links_.push_back(std::move(link));
  try {
    raw->thread = std::thread([this, raw] { RunLink(*raw); });
  } catch (const std::system_error& error) {
    if (counted) gate_.Leave(raw->source);
    links_.pop_back();
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.what()));
  }
  return raw;
}

void ManagerImpl::Reap() {
  std::list<std::unique_ptr<Link>> ended;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto link = links_.begin(); link != links_.end();) {
      const auto next = std::next(link);
      if ((*link)->done) ended.splice(ended.end(), links_, link);
      link = next;
    }
  }
  for (const std::unique_ptr<Link>& link : ended) link->thread.join();
}

absl::Status ManagerImpl::RunConnection(Link& link) {
  if (link.role == crypto::Role::kInitiator) {
    const SteadyTime deadline = std::chrono::steady_clock::now() +
                                absl::ToChronoNanoseconds(options_.handshake_timeout);
    absl::StatusOr<Descriptor> socket = Dial(link.address, deadline, link.close->fd());
    if (!socket.ok()) return link.close->reason().value_or(socket.status());
    link.socket = *std::move(socket);
  }
  ConnectionOptions options;
  options.role = link.role;
  options.peer_address = link.address;
  options.tls = tls_.get();
  options.attester = options_.attester;
  options.appraiser = options_.appraiser;
  options.offer = options_.offer;
  options.handshake_timeout = options_.handshake_timeout;
  options.reattest_every = options_.reattest_every;
  options.replace_every = options_.replace_every;
  options.clock = options_.clock;
  options.replaces = link.replaces;
  options.replaced_secret = std::move(link.replaced_secret);
  if (!options_.psk.empty()) {
    absl::StatusOr<crypto::SecretBytes> psk = options_.psk.Clone();
    if (!psk.ok()) return psk.status();
    options.psk = *std::move(psk);
  }
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

SessionPtr ManagerImpl::NewestLocked(
    const std::function<bool(const SessionImpl&)>& fits) const {
  for (auto session = sessions_.rbegin(); session != sessions_.rend(); ++session) {
    if (!(*session)->draining() && (*session)->status().ok() && fits(**session)) return *session;
  }
  return nullptr;
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

absl::StatusOr<std::shared_ptr<Session>> ManagerImpl::Connect(const std::string& address,
                                                              absl::Time deadline) {
  if (absl::Status status = ParseHostPort(address).status(); !status.ok()) return status;
  std::shared_ptr<DialWait> wait;
  bool first = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) return absl::CancelledError("the session manager is stopped");
    SessionPtr open = NewestLocked([&address](const SessionImpl& s) {
      return s.role() == crypto::Role::kInitiator && s.peer_address() == address;
    });
    if (open != nullptr) return open;
    std::shared_ptr<DialWait>& slot = dials_[address];
    if (slot == nullptr) {
      slot = std::make_shared<DialWait>();
      first = true;
    }
    wait = slot;
  }
  if (first) {
    auto link = std::make_unique<Link>(*this);
    link->address = address;
    link->wait = wait;
    absl::Status status = Spawn(std::move(link)).status();
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status.ok()) ResolveLocked(*wait, status);
  }
  const SteadyTime until =
      std::chrono::steady_clock::now() +
      absl::ToChronoNanoseconds(std::min(deadline - absl::Now(), absl::Hours(24)));
  std::unique_lock<std::mutex> lock(mutex_);
  if (!changed_.wait_until(lock, until, [&wait] { return wait->done; })) {
    return Refusal(StatusCode::kDeadlineExceeded, kDeadline,
                   absl::StrCat("no session with ", address, " in time"));
  }
  if (!wait->status.ok()) return wait->status;
  return wait->session;
}

std::shared_ptr<Session> ManagerImpl::Find(const crypto::SessionId& id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const SessionPtr& session : sessions_) {
    if (session->id() == id) return session;
  }
  return nullptr;
}

std::shared_ptr<Session> ManagerImpl::FindPeer(const crypto::Sha256Digest& spki) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return NewestLocked([&spki](const SessionImpl& s) { return s.peer_spki() == spki; });
}

std::vector<std::shared_ptr<Session>> ManagerImpl::List() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {sessions_.begin(), sessions_.end()};
}

void ManagerImpl::Stop() {
  std::lock_guard<std::mutex> one_at_a_time(stop_mutex_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    for (const std::unique_ptr<Link>& link : links_) {
      link->close->Close(Refusal(StatusCode::kCancelled, kClosed, "the session manager stops"));
    }
  }
  if (stop_ != nullptr) stop_->Close(absl::OkStatus());
  if (listener_thread_.joinable()) listener_thread_.join();
  listener_.Reset();
  while (true) {
    Reap();
    std::unique_lock<std::mutex> lock(mutex_);
    if (links_.empty()) break;
    changed_.wait(lock, [this] {
      return std::any_of(links_.begin(), links_.end(),
                         [](const auto& link) { return link->done; });
    });
  }
  std::lock_guard<std::mutex> lock(mutex_);
  while (!dials_.empty()) {
    ResolveLocked(*dials_.begin()->second, absl::CancelledError("the session manager stops"));
  }
}

absl::Status Link::OnPeerKnown(const crypto::Sha256Digest& known) {
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  peer = known;
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
    for (const SessionPtr& other : manager_.sessions_) {
      if (other->peer_spki() != *peer || other->draining() || !other->status().ok()) continue;
      if (replaced.has_value() ? other->id() == *replaced : other->role() != role) {
        if (!replaced.has_value() && !manager_.Stays(role, *peer)) return Crossed();
        drained.push_back(other);
      }
    }
    for (const SessionPtr& old : drained) old->SetDraining();
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

absl::StatusOr<SteadyTime> Link::TakeEvidenceToken(SteadyTime latest) {
  std::lock_guard<std::mutex> lock(manager_.mutex_);
  std::optional<SteadyTime> when =
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

}  // namespace

absl::StatusOr<std::unique_ptr<SessionManager>> SessionManager::Start(ManagerOptions options) {
  auto manager = std::make_unique<ManagerImpl>(std::move(options));
  if (absl::Status status = manager->Open(); !status.ok()) return status;
  return manager;
}

}  // namespace caravan::session
