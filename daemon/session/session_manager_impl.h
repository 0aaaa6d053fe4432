// SPDX-License-Identifier: Apache-2.0
//
// The session manager's inside: its connections, its sessions, and who waits for them.
#ifndef CARAVAN_DAEMON_SESSION_SESSION_MANAGER_IMPL_H_
#define CARAVAN_DAEMON_SESSION_SESSION_MANAGER_IMPL_H_

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "daemon/session/admission.h"
#include "daemon/session/connection.h"
#include "daemon/session/credentials.h"
#include "daemon/session/session.h"
#include "daemon/session/session_impl.h"

namespace caravan::session {

using SessionPtr = std::shared_ptr<SessionImpl>;

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
  bool IsHeld(const SessionPtr& session) override;
  absl::StatusOr<base::SteadyTime> TakeEvidenceToken(base::SteadyTime latest) override;
  absl::StatusOr<crypto::SecretBytes> FindReplaced(const crypto::Sha256Digest& peer,
                                                   const crypto::SessionId& id) override;

  // Set before the thread starts.
  crypto::Role role = crypto::Role::kInitiator;
  std::string address;      // as dialled or accepted
  std::string source;       // accepted: the host alone
  base::Descriptor socket;  // accepted
  std::shared_ptr<CloseRequest> close;
  std::shared_ptr<DialWait> wait;  // dialled by Connect()
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
        credentials_(std::make_shared<const Credentials>(std::move(options_.credentials))),
        gate_(options_.max_half_open, options_.max_half_open_per_source),
        budget_(options_.evidence_per_second) {}
  ~ManagerImpl() override { Stop(); }

  absl::Status Open();

  absl::Status SetCredentials(std::shared_ptr<const Credentials> credentials) override;
  std::shared_ptr<const Credentials> credentials() const override { return credentials_.Get(); }
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
  // Does this connection stay, where two with `peer` were dialled by different ends?
  bool Stays(crypto::Role role, const crypto::Sha256Digest& peer) const {
    return (role == crypto::Role::kInitiator) == LocalIsLower(peer);
  }
  SessionPtr NewestLocked(const std::function<bool(const SessionImpl&)>& fits) const;
  absl::Status RoomLocked() const;  // for one more session
  void MakeRoomLocked(const crypto::Sha256Digest& peer);
  void ResolveLocked(DialWait& wait, absl::StatusOr<std::shared_ptr<Session>> result);
  // Answers those whose connection gave way to a crossing one, once that one is there or lost.
  void SettleCrossingLocked();

  ManagerOptions options_;  // all but the credentials
  CredentialsHolder credentials_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<TlsContext> tls_;
  base::Descriptor listener_;
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

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_SESSION_MANAGER_IMPL_H_
