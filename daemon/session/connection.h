// SPDX-License-Identifier: Apache-2.0
//
// The thin adapter between one TCP connection and the pure parts: it carries bytes between the
// socket and the channel, messages between the channel and the handshake, evidence between the
// handshake and the TEE, and, after Accept, the two byte streams. One thread runs all of it.
#ifndef CARAVAN_DAEMON_SESSION_CONNECTION_H_
#define CARAVAN_DAEMON_SESSION_CONNECTION_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/appraisal.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "daemon/session/bridge.h"
#include "daemon/session/credentials.h"
#include "daemon/session/frames.h"
#include "daemon/session/handshake.h"
#include "daemon/session/messages.h"
#include "daemon/session/session_impl.h"
#include "daemon/session/tls_channel.h"

namespace caravan::session {

// What a connection asks of its manager. Thread-safe; called on the connection's thread.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  // TLS has shown the peer's key. An error ends the connection: another one stays.
  virtual absl::Status OnPeerKnown(const crypto::Sha256Digest& peer) = 0;
  // The peer's Accept was taken. An error ends the connection before anybody saw the session.
  virtual absl::Status OnEstablished(std::shared_ptr<SessionImpl> session,
                                     std::optional<crypto::SessionId> replaced) = 0;
  // It is time for a new session to take over from this one.
  virtual void OnReplaceDue() = 0;
  // Whether anybody besides the host and the connection holds the session.
  virtual bool IsHeld(const std::shared_ptr<SessionImpl>& session) = 0;
  // When evidence may be made; ResourceExhausted, reason EVIDENCE_RATE, when not by `latest`.
  virtual absl::StatusOr<base::SteadyTime> TakeEvidenceToken(base::SteadyTime latest) = 0;
  virtual absl::StatusOr<crypto::SecretBytes> FindReplaced(const crypto::Sha256Digest& peer,
                                                           const crypto::SessionId& id) = 0;
};

struct ConnectionOptions {
  crypto::Role role = crypto::Role::kInitiator;
  std::string peer_address;
  const TlsContext* tls = nullptr;  // outlives the connection, as does the next
  const CredentialsHolder* credentials = nullptr;
  absl::Duration handshake_timeout = absl::Seconds(10);
  absl::Duration reattest_every = absl::Minutes(15);
  absl::Duration replace_every = absl::Hours(1);
  absl::Duration drain_idle = absl::Minutes(1);
  absl::Duration drain_limit = absl::Hours(2);
  std::function<absl::Time()> clock;
  std::optional<crypto::SessionId> replaces;
  crypto::SecretBytes replaced_secret;
};

class Connection {
 public:
  // `host` outlives the connection; `socket` is connected and non-blocking.
  Connection(ConnectionOptions options, base::Descriptor socket,
             std::shared_ptr<CloseRequest> close, ConnectionHost& host);

  // Runs until the connection has ended and says why; never OK. Streams and socket are closed
  // then.
  absl::Status Run();

 private:
  absl::Status Step();
  absl::Status CheckTimers();
  absl::Status CheckDrained();
  absl::Status ReadNetwork();
  absl::Status WriteNetwork();
  absl::Status OnChannel();
  absl::Status OnFrame(const Frame& frame);
  absl::Status OnControlMessage(const std::string& message);
  void BeginRound();
  absl::Status ServeHandshake();
  absl::StatusOr<std::string> CollectEvidence();
  absl::StatusOr<attestation::Appraisal> AppraisePeer();
  absl::Status FlushHandshake();
  absl::Status Establish();
  absl::Status PumpBridges(bool readable_first, bool readable_second);
  absl::Status WaitUntil(base::SteadyTime when);
  void Farewell(const absl::Status& reason);
  base::SteadyTime deadline() const;

  ConnectionOptions options_;
  base::Descriptor socket_;
  std::shared_ptr<CloseRequest> close_;
  ConnectionHost& host_;

  std::unique_ptr<TlsChannel> tls_;
  FrameReader frames_;
  MessageReader messages_;
  std::unique_ptr<Handshake> handshake_;
  std::shared_ptr<const Credentials> credentials_;  // of the round under way, else null
  attestation::Appraisal appraisal_;
  std::shared_ptr<SessionImpl> session_;
  std::array<std::optional<Bridge>, 2> bridges_;  // stream 1, stream 2

  base::SteadyTime handshake_deadline_;
  std::optional<base::SteadyTime> round_deadline_;
  absl::Time replace_due_ = absl::InfiniteFuture();
  std::optional<base::SteadyTime> draining_since_;
  base::SteadyTime last_held_;  // while it drains
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_CONNECTION_H_
