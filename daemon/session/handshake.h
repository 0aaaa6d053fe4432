// SPDX-License-Identifier: Apache-2.0
//
// The attested handshake above a channel, as a pure state machine: messages in, messages out
// (docs/protocol.md, "Handshake", layers 2 and 3). No socket, thread, clock or TEE: the adapter
// (connection.h) carries messages, collects evidence and has evidence appraised.
//
//   I.Hello  R.Hello  I.Evidence  (R appraises)  R.Evidence  (I appraises)  I.Accept  R.Accept
//
// The same machine runs re-attestation rounds after that: round + 1, fresh nonces, the same keys.
// Of the secrets it is given it keeps none beyond round 0.
//
// How to use it safely
//   - After each call, serve want(): kEvidence and kAppraisal wait for the adapter's answer.
//   - Send what TakeOutput() gives, also after a failure: the last message is the alert.
//   - The first error is final. Nothing about the peer can be read before established().
#ifndef CARAVAN_DAEMON_SESSION_HANDSHAKE_H_
#define CARAVAN_DAEMON_SESSION_HANDSHAKE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attestation/appraisal.h"
#include "attestation/binder.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "daemon/session/handshake_keys.h"
#include "daemon/session/messages.h"

namespace caravan::session {

struct HandshakeOptions {
  crypto::Role role = crypto::Role::kInitiator;
  std::string local_spki;  // DER
  std::string peer_spki;   // DER, as the channel authenticated it
  Exporter exporter;
  crypto::Sha256Digest policy_digest{};  // of the policy that this end appraises with
  std::string offer;                     // at most kMaxOfferSize bytes
  crypto::SecretBytes psk;               // may be empty
  // Fills its argument with random bytes; called once a round.
  std::function<absl::Status(absl::Span<uint8_t>)> random;
  // Initiator: the session that this one replaces. Both are set, or neither.
  std::optional<crypto::SessionId> replaces;
  crypto::SecretBytes replaced_secret;
  // Responder: the secret of an open session with this same peer, or an error.
  std::function<absl::StatusOr<crypto::SecretBytes>(const crypto::SessionId&)> find_replaced;
};

// Not thread-safe.
class Handshake {
 public:
  enum class Want {
    kMessage,    // OnMessage(), the next message of the peer
    kEvidence,   // ProvideEvidence(), evidence for request()
    kAppraisal,  // ProvideAppraisal(), of peer_evidence() against request()
    kNothing,    // established and between rounds: OnMessage(), StartRound()
    kDead,       // failed: status() says why
  };

  // InvalidArgument on options that contradict themselves; PermissionDenied, reason SELF, when
  // the peer's key is this end's own; Internal, reason EXPORTER, when the channel has no name.
  static absl::StatusOr<std::unique_ptr<Handshake>> Create(HandshakeOptions options);
  virtual ~Handshake() = default;

  // Once, before anything else. The initiator speaks first.
  absl::Status Start();
  // A whole message of the control stream. Any error is final and has made an alert.
  absl::Status OnMessage(absl::Span<const uint8_t> message);
  absl::Status ProvideEvidence(absl::StatusOr<std::string> encoded);
  absl::Status ProvideAppraisal(const absl::StatusOr<attestation::Appraisal>& appraisal);
  // Starts re-attestation, or, at the responder, asks for it: the order of messages stays one.
  // FailedPrecondition before established(); nothing happens while a round runs or is asked for.
  absl::Status StartRound();
  // Ends the handshake from outside (deadline, shutdown): as an error of OnMessage().
  absl::Status Abort(absl::Status reason);

  Want want() const;
  // A round is under way, or was asked for.
  // Established and between two rounds: no Hello of a next one was sent or taken.
  bool idle() const { return state_ == State::kIdle; }
  // While idle(): what the Hello of the next rounds says.
  void SetHello(const crypto::Sha256Digest& policy_digest, std::string offer) {
    options_.policy_digest = policy_digest;
    options_.offer = std::move(offer);
  }
  bool round_pending() const { return state_ != State::kIdle || round_requested_; }
  const absl::Status& status() const { return status_; }
  std::vector<std::string> TakeOutput();

  // While want() is kEvidence or kAppraisal: what the evidence must answer.
  const attestation::EvidenceRequest& request() const { return request_; }
  // While want() is kAppraisal: the peer's encoded EvidenceSet.
  const std::string& peer_evidence() const { return peer_evidence_; }

  // The peer's Accept for round 0 has been taken, and nothing has failed.
  bool established() const { return established_ && status_.ok(); }
  // The last completed round. FailedPrecondition before established(), as all that follow.
  absl::StatusOr<uint32_t> round() const;
  absl::StatusOr<crypto::SessionId> session_id() const;
  absl::StatusOr<crypto::SecretBytes> CloneSecret() const;
  absl::StatusOr<crypto::Sha384Digest> transcript() const;  // of the last round, between rounds
  absl::StatusOr<std::string> peer_offer() const;
  // The session that both ends agreed to replace, if any.
  absl::StatusOr<std::optional<crypto::SessionId>> replaced() const;

 protected:
  explicit Handshake(HandshakeOptions options);
  absl::Status Prepare();

  // The two judgements everything rests on, apart so that the model test can show what it sees
  // when one of them is wrong.
  virtual absl::StatusOr<attestation::EvidenceRequest> RequestOf(const Challenge& challenge) const;
  virtual bool MacMatches(const crypto::Sha384Digest& expected,
                          const crypto::Sha384Digest& received) const;

  const HandshakeOptions& options() const { return options_; }
  const crypto::SessionId& id() const { return session_id_; }

 private:
  enum class State { kNew, kHello, kEvidence, kAppraise, kMakeEvidence, kAccept, kIdle, kDead };

  bool initiator() const { return options_.role == crypto::Role::kInitiator; }
  crypto::Role peer_role() const;
  const std::string& SpkiOf(crypto::Role role) const;
  absl::Status Fail(absl::Status reason);
  absl::Status Dispatch(absl::Span<const uint8_t> message);
  absl::Status TakeHello(absl::Span<const uint8_t> message);
  absl::Status TakeEvidence(absl::Span<const uint8_t> message);
  absl::Status TakeAccept(absl::Span<const uint8_t> message);
  absl::Status TakeAlert(absl::Span<const uint8_t> message);
  absl::Status TakeRoundRequest(absl::Span<const uint8_t> message);
  absl::Status CheckReplacement(const Hello& hello);
  absl::Status CheckAnswers(const EvidenceMessage& evidence) const;
  absl::Status SendHello();
  absl::Status WantEvidence();
  absl::Status CloseTranscript();
  absl::Status SendAccept();
  Challenge ChallengeTo(crypto::Role attester) const;
  void Send(std::string message, bool in_transcript);
  absl::Status NotEstablished() const;

  HandshakeOptions options_;
  State state_ = State::kNew;
  absl::Status status_;
  std::vector<std::string> output_;
  bool established_ = false;
  bool round_requested_ = false;

  crypto::SessionId session_id_{};
  crypto::SecretBytes secret_;
  std::optional<crypto::SessionId> replaced_;
  std::string peer_offer_;

  uint32_t round_ = 0;  // of the messages under way, or the last one
  Hello local_hello_;
  Hello peer_hello_;
  std::string peer_evidence_;
  attestation::EvidenceRequest request_;
  std::vector<std::string> messages_;  // of this round, through R.Evidence
  crypto::Sha384Digest transcript_{};
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_HANDSHAKE_H_
