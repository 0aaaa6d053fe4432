// SPDX-License-Identifier: Apache-2.0
//
// An attested channel to one peer, and the manager that makes, finds, re-attests, replaces and
// ends such channels. See README.md for the flow.
#ifndef CARAVAN_DAEMON_SESSION_SESSION_H_
#define CARAVAN_DAEMON_SESSION_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "daemon/session/credentials.h"

namespace caravan::session {

// Thread-safe. Exists only after the peer's Accept; closes once, for good.
class Session {
 public:
  virtual ~Session() = default;

  virtual const crypto::SessionId& id() const = 0;
  virtual crypto::Role role() const = 0;
  virtual const crypto::Sha256Digest& local_spki() const = 0;
  virtual const crypto::Sha256Digest& peer_spki() const = 0;
  virtual const std::string& peer_address() const = 0;  // "10.0.0.2:7400", as dialled or accepted
  virtual absl::Time established() const = 0;
  // The shortest of the connection while it was established; zero where it is not known.
  virtual absl::Duration round_trip() const { return absl::ZeroDuration(); }
  virtual absl::Time last_attested() const = 0;
  virtual uint32_t round() const = 0;                         // 0 after the handshake
  virtual attestation::Appraisal peer_appraisal() const = 0;  // of the last round
  // What the peer announced in its Hello (data port and the like): opaque bytes, bound into the
  // transcript.
  virtual const std::string& peer_offer() const = 0;
  // session_secret[48]; lives as long as the session object.
  virtual const crypto::SecretBytes& secret() const = 0;

  // Byte streams bridged through the channel, each a connected non-blocking socket. The caller
  // takes each once and owns it; -1 after that. Incoming carries the peer's calls to us,
  // outgoing ours to the peer.
  virtual int TakeIncomingStream() = 0;
  virtual int TakeOutgoingStream() = 0;

  // OK while open; the reason once closed.
  virtual absl::Status status() const = 0;
  // Idempotent; the first reason wins.
  virtual void Close(absl::Status reason) = 0;

  // A newer session with the same peer has taken over, or one of the two streams has ended. This
  // one finishes what was begun over it, and nothing new may be begun: refuse that with reason
  // REPLACED. It closes by itself, see ManagerOptions::drain_idle.
  virtual bool draining() const { return false; }
};

struct ManagerOptions {
  std::string listen_address;  // "10.0.0.1:7400"; port 0 picks one
  Credentials credentials;     // to begin with
  absl::Duration handshake_timeout = absl::Seconds(10);
  absl::Duration reattest_every = absl::Minutes(15);
  absl::Duration replace_every = absl::Hours(1);
  // A session that drains closes once nobody has held its pointer for this long (replace_every,
  // where that is shorter), and at the latest after drain_limit. Rounds go on until then.
  absl::Duration drain_idle = absl::Minutes(1);
  absl::Duration drain_limit = absl::Hours(2);
  int max_half_open = 256;  // in all
  int max_half_open_per_source = 32;
  int max_sessions = 2048;  // in all, with those that drain; memory for keys is locked for each
  // With one peer. The oldest that drains gives way to one more; a peer that outruns their end is
  // refused.
  int max_sessions_per_peer = 8;
  double evidence_per_second = 50;  // token bucket, spent before evidence is made
  std::function<absl::Time()> clock = [] { return absl::Now(); };
  // Called on a manager thread, never under a lock, once a session is established (before
  // Connect() returns it) and once it has closed.
  std::function<void(std::shared_ptr<Session>)> on_established;
  std::function<void(std::shared_ptr<Session>)> on_closed;
  // A newer session has taken over from `old`, which drains: let go of it.
  std::function<void(std::shared_ptr<Session> old, std::shared_ptr<Session> newer)> on_replaced;
  // Every refused or failed handshake: peer address and reason.
  std::function<void(const std::string&, const absl::Status&)> on_refused;
};

// Thread-safe.
class SessionManager {
 public:
  virtual ~SessionManager() = default;

  // Binds and listens. The node's Ed25519 identity is made here and never leaves the process.
  static absl::StatusOr<std::unique_ptr<SessionManager>> Start(ManagerOptions options);

  // Handshakes and rounds that begin from now on use these; those under way end with what they
  // began with. InvalidArgument, and the old ones stay: no attester, no appraiser, a long offer.
  virtual absl::Status SetCredentials(std::shared_ptr<const Credentials> credentials) = 0;
  virtual std::shared_ptr<const Credentials> credentials() const = 0;

  virtual int port() const = 0;
  virtual const crypto::Sha256Digest& local_spki() const = 0;
  // The newest open session with whoever listens at `address`, or a new one.
  // Unavailable: cannot connect. PermissionDenied: the peer's evidence was refused, or the peer
  // refused ours. DeadlineExceeded: the handshake took too long.
  virtual absl::StatusOr<std::shared_ptr<Session>> Connect(const std::string& address,
                                                           absl::Time deadline) = 0;
  virtual std::shared_ptr<Session> Find(const crypto::SessionId& id) const = 0;  // null if none
  // The newest open session with the node of this key, or null.
  virtual std::shared_ptr<Session> FindPeer(const crypto::Sha256Digest& spki) const = 0;
  virtual std::vector<std::shared_ptr<Session>> List() const = 0;
  // Closes all sessions, joins all threads. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_SESSION_H_
