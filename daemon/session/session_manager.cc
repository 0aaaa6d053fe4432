// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <system_error>

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

bool Usable(const Credentials& credentials) {
  return credentials.attester != nullptr && credentials.appraiser != nullptr &&
         credentials.offer.size() <= kMaxOfferSize;
}

}  // namespace

absl::Status ManagerImpl::Open() {
  if (!Usable(*credentials_.Get()) || !options_.clock || options_.max_half_open < 1 ||
      options_.max_half_open_per_source < 1 || options_.max_sessions < 1 ||
      options_.max_sessions_per_peer < 2 || options_.handshake_timeout <= absl::ZeroDuration() ||
      options_.reattest_every <= absl::ZeroDuration() ||
      options_.replace_every <= absl::ZeroDuration() ||
      options_.drain_idle < absl::ZeroDuration() || options_.drain_limit < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("session manager options: an attester, an appraiser and a clock are needed, "
                     "the offer has at most ",
                     kMaxOfferSize,
                     " bytes, limits and durations are positive, and a session and its successor "
                     "fit max_sessions_per_peer"));
  }
  absl::StatusOr<std::unique_ptr<Identity>> identity = Identity::Create(
      static_cast<size_t>(options_.max_half_open) + static_cast<size_t>(options_.max_sessions));
  if (!identity.ok()) return identity.status();
  identity_ = *std::move(identity);
  absl::StatusOr<std::unique_ptr<TlsContext>> tls = TlsContext::Create(*identity_);
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  absl::StatusOr<std::shared_ptr<CloseRequest>> stop = CloseRequest::Create();
  if (!stop.ok()) return stop.status();
  stop_ = *std::move(stop);
  absl::StatusOr<base::Descriptor> listener = base::Listen(options_.listen_address, [](int) {});
  if (!listener.ok()) return listener.status();
  absl::StatusOr<int> port = base::LocalPort(listener->get());
  if (!port.ok()) return port.status();
  port_ = *port;
  listener_ = *std::move(listener);
  listener_thread_ = std::thread([this] { RunListener(); });
  return absl::OkStatus();
}

absl::Status ManagerImpl::SetCredentials(std::shared_ptr<const Credentials> credentials) {
  if (credentials == nullptr || !Usable(*credentials)) {
    return absl::InvalidArgumentError(
        absl::StrCat("credentials: an attester and an appraiser are needed, and the offer has at "
                     "most ",
                     kMaxOfferSize, " bytes"));
  }
  credentials_.Set(std::move(credentials));
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
  absl::StatusOr<base::Accepted> accepted = base::Accept(listener_.get());
  if (!accepted.ok()) {
    if (options_.on_refused) options_.on_refused(options_.listen_address, accepted.status());
    // Descriptors have run out: the connection stays in the backlog, so don't spin on it.
    pollfd fd{stop_->fd(), POLLIN, 0};
    poll(&fd, 1, 100);
    return;
  }
  if (!accepted->socket.valid()) return;
  TuneConnection(accepted->socket.get());
  link->role = crypto::Role::kResponder;
  link->socket = std::move(accepted->socket);
  link->address = accepted->from.ToString();
  link->source = accepted->from.host;
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

absl::StatusOr<std::shared_ptr<Session>> ManagerImpl::Connect(const std::string& address,
                                                              absl::Time deadline) {
  if (absl::Status status = base::ParseHostPort(address).status(); !status.ok()) return status;
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
  const base::SteadyTime until =
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
      return std::any_of(links_.begin(), links_.end(), [](const auto& link) { return link->done; });
    });
  }
  std::lock_guard<std::mutex> lock(mutex_);
  while (!dials_.empty()) {
    ResolveLocked(*dials_.begin()->second, absl::CancelledError("the session manager stops"));
  }
}

absl::StatusOr<std::unique_ptr<SessionManager>> SessionManager::Start(ManagerOptions options) {
  auto manager = std::make_unique<ManagerImpl>(std::move(options));
  if (absl::Status status = manager->Open(); !status.ok()) return status;
  return manager;
}

}  // namespace caravan::session
