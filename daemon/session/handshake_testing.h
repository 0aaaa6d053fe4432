// SPDX-License-Identifier: Apache-2.0
//
// For tests: the handshake without TLS or a TEE. A channel is a name whose exporter is a MAC, so
// two ends agree exactly when they hold the same channel; evidence is session_testing's.
#ifndef CARAVAN_DAEMON_SESSION_HANDSHAKE_TESTING_H_
#define CARAVAN_DAEMON_SESSION_HANDSHAKE_TESTING_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/session/handshake.h"
#include "daemon/session/session_testing.h"

namespace caravan::session {

Exporter ChannelForTest(const std::string& name);
std::string SpkiForTest(const std::string& node);

// Options of `local`'s end. Nonces follow from `seed` and the count of rounds.
HandshakeOptions HandshakeOptionsForTest(crypto::Role role, const std::string& local,
                                         const std::string& peer, const std::string& channel,
                                         const std::string& seed);

// Planted mistakes: code that no release binary can reach.
struct HandshakeBugsForTest {
  // One binder per channel, from the exporter alone: evidence of either role fits the other.
  bool same_binder_for_both_roles = false;
  // Any Accept will do.
  bool accept_unchecked = false;
};
absl::StatusOr<std::unique_ptr<Handshake>> CreateHandshakeForTest(HandshakeOptions options,
                                                                  const HandshakeBugsForTest& bugs);

// Whether a machine of CreateHandshakeForTest() still has its pre-shared key, or the secret of the
// session that it replaces.
bool HoldsGivenSecretsForTest(const Handshake& handshake);

// Answers what the machine wants from the adapter until it wants something else.
absl::Status ServeForTest(Handshake& handshake, attestation::Attester& attester,
                          const attestation::Appraiser& appraiser,
                          absl::Time now = absl::UnixEpoch());

// Two machines on one channel, and the messages between them.
struct HandshakePair {
  explicit HandshakePair(HandshakeOptions initiator_options, HandshakeOptions responder_options);
  HandshakePair();

  // Carries messages until nobody has one; each passes `change` on its way when that is set. An
  // empty message is dropped.
  void Run();
  // The last message of the type among those sent, or "".
  // The machine of a role, and what it has sent.
  Handshake& machine(crypto::Role role) {
    return role == crypto::Role::kInitiator ? *initiator : *responder;
  }
  const std::vector<std::string>& sent_by(crypto::Role role) const {
    return role == crypto::Role::kInitiator ? sent_by_initiator : sent_by_responder;
  }
  static std::string Last(const std::vector<std::string>& sent, MessageType type);

  std::unique_ptr<Handshake> initiator;
  std::unique_ptr<Handshake> responder;
  // Fakes, unless the test sets others.
  attestation::Attester* initiator_tee = &fake_initiator_tee;
  attestation::Attester* responder_tee = &fake_responder_tee;
  const attestation::Appraiser* appraiser = &fake_appraiser;
  absl::Time now = absl::UnixEpoch();
  FakeAttester fake_initiator_tee;
  FakeAttester fake_responder_tee;
  FakeAppraiser fake_appraiser;
  std::function<void(crypto::Role from, std::string* message)> change;
  std::vector<std::string> sent_by_initiator;
  std::vector<std::string> sent_by_responder;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_HANDSHAKE_TESTING_H_
