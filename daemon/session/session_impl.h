// SPDX-License-Identifier: Apache-2.0
//
// The session object that callers share with the connection's thread.
#ifndef CARAVAN_DAEMON_SESSION_SESSION_IMPL_H_
#define CARAVAN_DAEMON_SESSION_SESSION_IMPL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "daemon/session/session.h"

namespace caravan::session {

// The one thing that other threads may do to a connection: end it. Thread-safe.
class CloseRequest {
 public:
  static absl::StatusOr<std::shared_ptr<CloseRequest>> Create();

  // The first reason wins. OK counts as "closed by this node".
  void Close(absl::Status reason);
  std::optional<absl::Status> reason() const;
  // Readable once closed; for poll().
  int fd() const { return event_.get(); }

 private:
  explicit CloseRequest(base::Descriptor event) : event_(std::move(event)) {}

  base::Descriptor event_;
  mutable std::mutex mutex_;
  std::optional<absl::Status> reason_;
};

struct SessionFacts {
  crypto::SessionId id{};
  crypto::Role role = crypto::Role::kInitiator;
  crypto::Sha256Digest local_spki{};
  crypto::Sha256Digest peer_spki{};
  std::string peer_address;
  absl::Time established;
  absl::Duration round_trip = absl::ZeroDuration();
  std::string peer_offer;
  crypto::SecretBytes secret;
};

class SessionImpl final : public Session {
 public:
  SessionImpl(SessionFacts facts, attestation::Appraisal appraisal,
              std::shared_ptr<CloseRequest> close, base::Descriptor incoming,
              base::Descriptor outgoing);

  const crypto::SessionId& id() const override { return facts_.id; }
  crypto::Role role() const override { return facts_.role; }
  const crypto::Sha256Digest& local_spki() const override { return facts_.local_spki; }
  const crypto::Sha256Digest& peer_spki() const override { return facts_.peer_spki; }
  const std::string& peer_address() const override { return facts_.peer_address; }
  absl::Time established() const override { return facts_.established; }
  absl::Duration round_trip() const override { return facts_.round_trip; }
  absl::Time last_attested() const override;
  uint32_t round() const override;
  attestation::Appraisal peer_appraisal() const override;
  const std::string& peer_offer() const override { return facts_.peer_offer; }
  const crypto::SecretBytes& secret() const override { return facts_.secret; }
  int TakeIncomingStream() override;
  int TakeOutgoingStream() override;
  absl::Status status() const override;
  void Close(absl::Status reason) override;
  bool draining() const override;

  // The connection's side.
  void SetRound(uint32_t round, absl::Time when, attestation::Appraisal appraisal);
  // A newer session has taken over (the manager's side), or a stream has ended (the connection's).
  void SetDraining();
  // The connection has ended.
  void SetClosed(absl::Status reason);

 private:
  const SessionFacts facts_;
  const std::shared_ptr<CloseRequest> close_;
  mutable std::mutex mutex_;
  attestation::Appraisal appraisal_;
  absl::Time last_attested_;
  uint32_t round_ = 0;
  bool draining_ = false;
  absl::Status closed_;
  base::Descriptor incoming_;
  base::Descriptor outgoing_;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_SESSION_IMPL_H_
