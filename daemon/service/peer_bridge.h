// SPDX-License-Identifier: Apache-2.0
//
// gRPC inside attested sessions: each session's incoming stream is served, its outgoing stream
// becomes a client. gRPC never meets a peer that has not been attested.
#ifndef CARAVAN_DAEMON_SERVICE_PEER_BRIDGE_H_
#define CARAVAN_DAEMON_SERVICE_PEER_BRIDGE_H_

#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "daemon/membership/peer.h"
#include "daemon/session/session.h"

namespace caravan::service {

// Thread-safe.
class PeerBridge {
 public:
  // `handler` outlives the bridge.
  static absl::StatusOr<std::unique_ptr<PeerBridge>> Start(membership::PeerHandler* handler);
  ~PeerBridge();  // Stop()

  // Takes the session's two streams. Once a session.
  void Add(const std::shared_ptr<session::Session>& session);
  void Remove(const session::Session& session);
  // Null when the session was not added, or has been removed.
  std::shared_ptr<membership::PeerClient> Client(const session::Session& session) const;
  // Ends the peers' calls. Idempotent.
  void Stop();

 private:
  class Service;
  PeerBridge();
  std::unique_ptr<Service> service_;
  mutable std::mutex mutex_;
  std::map<crypto::SessionId, std::shared_ptr<membership::PeerClient>> clients_;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_PEER_BRIDGE_H_
