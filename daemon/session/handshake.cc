// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/handshake.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using absl::StatusCode;
using crypto::Role;

}  // namespace

Handshake::Handshake(HandshakeOptions options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Handshake>> Handshake::Create(HandshakeOptions options) {
  auto handshake = std::unique_ptr<Handshake>(new Handshake(std::move(options)));
  if (absl::Status status = handshake->Prepare(); !status.ok()) return status;
  return handshake;
}

absl::Status Handshake::Prepare() {
  if (options_.local_spki.empty() || options_.peer_spki.empty() || !options_.exporter ||
      !options_.random || options_.offer.size() > kMaxOfferSize ||
      options_.replaces.has_value() == options_.replaced_secret.empty() ||
      (options_.replaces.has_value() && !initiator())) {
    return absl::InvalidArgumentError(
        "handshake options: both keys, an exporter and a source of randomness are needed, the "
        "offer has at most 1024 bytes, and only an initiator names a replaced session with its "
        "secret");
  }
  if (options_.local_spki == options_.peer_spki) {
    return Refusal(StatusCode::kPermissionDenied, kSelf,
                   "the peer holds this node's own key: the address leads back here");
  }
  absl::StatusOr<crypto::SessionId> id = ExportSessionId(options_.exporter);
  if (!id.ok()) return id.status();
  session_id_ = *id;
  return absl::OkStatus();
}

Role Handshake::peer_role() const { return initiator() ? Role::kResponder : Role::kInitiator; }

const std::string& Handshake::SpkiOf(Role role) const {
  return role == options_.role ? options_.local_spki : options_.peer_spki;
}

Handshake::Want Handshake::want() const {
  switch (state_) {
    case State::kAppraise:
      return Want::kAppraisal;
    case State::kMakeEvidence:
      return Want::kEvidence;
    case State::kIdle:
      return Want::kNothing;
    case State::kDead:
      return Want::kDead;
    default:
      return Want::kMessage;
  }
}

std::vector<std::string> Handshake::TakeOutput() { return std::exchange(output_, {}); }

void Handshake::Send(std::string message, bool in_transcript) {
  if (in_transcript) messages_.push_back(message);
  output_.push_back(std::move(message));
}

absl::Status Handshake::Fail(absl::Status reason) {
  if (!status_.ok()) return status_;
  status_ = std::move(reason);
  state_ = State::kDead;
  options_.psk = crypto::SecretBytes();
  options_.replaced_secret = crypto::SecretBytes();
  Alert alert{status_.code(), ReasonOf(status_)};
  // An error without a name is this node's own trouble: the peer learns no more than that.
  if (alert.reason.empty()) alert.reason = std::string(kClosed);
  Send(Encode(alert), /*in_transcript=*/false);
  return status_;
}

absl::Status Handshake::Abort(absl::Status reason) { return Fail(std::move(reason)); }

absl::Status Handshake::Start() {
  if (state_ != State::kNew) return absl::FailedPreconditionError("handshake started twice");
  state_ = State::kHello;
  if (!initiator()) return absl::OkStatus();
  if (absl::Status status = SendHello(); !status.ok()) return Fail(status);
  return absl::OkStatus();
}

absl::Status Handshake::StartRound() {
  if (!established()) return NotEstablished();
  if (state_ != State::kIdle || round_requested_) return absl::OkStatus();
  if (!initiator()) {
    round_requested_ = true;
    Send(Encode(RoundRequest{round_ + 1}), /*in_transcript=*/false);
    return absl::OkStatus();
  }
  ++round_;
  state_ = State::kHello;
  if (absl::Status status = SendHello(); !status.ok()) return Fail(status);
  return absl::OkStatus();
}

absl::Status Handshake::SendHello() {
  if (initiator()) messages_.clear();
  local_hello_ = Hello();
  local_hello_.role = options_.role;
  local_hello_.round = round_;
  local_hello_.policy_digest = options_.policy_digest;
  local_hello_.offer = options_.offer;
  if (absl::Status status = options_.random(absl::MakeSpan(local_hello_.nonce)); !status.ok()) {
    return status;
  }
  if (round_ == 0 && options_.replaces.has_value()) {
    absl::StatusOr<crypto::Sha384Digest> mac =
        ReplacementMac(options_.replaced_secret, options_.role, SpkiOf(Role::kInitiator),
                       SpkiOf(Role::kResponder), session_id_);
    if (!mac.ok()) return mac.status();
    local_hello_.replaces = Replacement{*options_.replaces, *mac};
  }
  Send(Encode(local_hello_), /*in_transcript=*/true);
  return absl::OkStatus();
}

Challenge Handshake::ChallengeTo(Role attester) const {
  const Hello& verifier = attester == options_.role ? peer_hello_ : local_hello_;
  return Challenge{attester, round_, verifier.nonce, verifier.policy_digest};
}

absl::StatusOr<attestation::EvidenceRequest> Handshake::RequestOf(
    const Challenge& challenge) const {
  absl::StatusOr<attestation::Binder> binder = ExportBinder(options_.exporter, challenge);
  if (!binder.ok()) return binder.status();
  absl::StatusOr<attestation::ReportData> data = attestation::MakeReportData(
      challenge.attester, *binder, crypto::Sha256(crypto::AsBytes(SpkiOf(challenge.attester))),
      attestation::kSessionPurpose, session_id_);
  if (!data.ok()) return data.status();
  return attestation::EvidenceRequest{*data, challenge.attester, *binder};
}

bool Handshake::MacMatches(const crypto::Sha384Digest& expected,
                           const crypto::Sha384Digest& received) const {
  return crypto::ConstantTimeEquals(expected, received);
}

absl::Status Handshake::WantEvidence() {
  absl::StatusOr<attestation::EvidenceRequest> request = RequestOf(ChallengeTo(options_.role));
  if (!request.ok()) return request.status();
  request_ = *request;
  state_ = State::kMakeEvidence;
  return absl::OkStatus();
}

absl::Status Handshake::ProvideEvidence(absl::StatusOr<std::string> encoded) {
  if (!status_.ok()) return status_;
  if (state_ != State::kMakeEvidence) return absl::FailedPreconditionError("no evidence is wanted");
  if (!encoded.ok()) {
    if (!ReasonOf(encoded.status()).empty()) return Fail(encoded.status());
    const absl::string_view why = encoded.status().message();
    return Fail(Refusal(encoded.status().code(), kAttester,
                        absl::StrCat("cannot make this node's evidence: ", why)));
  }
  if (encoded->size() > attestation::kMaxEvidenceSize) {
    return Fail(Refusal(StatusCode::kInternal, kAttester,
                        absl::StrCat("this node's evidence has ", encoded->size(),
                                     " bytes, at most ", attestation::kMaxEvidenceSize, " fit")));
  }
  EvidenceMessage evidence;
  evidence.role = options_.role;
  evidence.round = round_;
  evidence.session = session_id_;
  evidence.nonce = peer_hello_.nonce;
  evidence.policy_digest = peer_hello_.policy_digest;
  evidence.evidence = *std::move(encoded);
  Send(Encode(evidence), /*in_transcript=*/true);
  if (initiator()) {
    state_ = State::kEvidence;
    return absl::OkStatus();
  }
  if (absl::Status status = CloseTranscript(); !status.ok()) return Fail(status);
  state_ = State::kAccept;
  return absl::OkStatus();
}

absl::Status Handshake::CloseTranscript() {
  transcript_ = TranscriptHash(SpkiOf(Role::kInitiator), SpkiOf(Role::kResponder), messages_);
  messages_.clear();
  if (round_ != 0) return absl::OkStatus();
  absl::StatusOr<crypto::SecretBytes> secret =
      ExportSessionSecret(options_.exporter, transcript_, options_.psk);
  if (!secret.ok()) return secret.status();
  secret_ = *std::move(secret);
  // Round 0 alone needs them.
  options_.psk = crypto::SecretBytes();
  options_.replaced_secret = crypto::SecretBytes();
  return absl::OkStatus();
}

absl::Status Handshake::SendAccept() {
  absl::StatusOr<crypto::Sha384Digest> mac =
      crypto::AcceptMac(secret_, options_.role, round_, transcript_);
  if (!mac.ok()) return mac.status();
  Send(Encode(Accept{round_, *mac}), /*in_transcript=*/false);
  return absl::OkStatus();
}

absl::Status Handshake::NotEstablished() const {
  if (!status_.ok()) return status_;
  return absl::FailedPreconditionError("the handshake is not complete");
}

absl::StatusOr<uint32_t> Handshake::round() const {
  if (!established()) return NotEstablished();
  return state_ == State::kIdle ? round_ : round_ - 1;
}

absl::StatusOr<crypto::SessionId> Handshake::session_id() const {
  if (!established()) return NotEstablished();
  return session_id_;
}

absl::StatusOr<crypto::SecretBytes> Handshake::CloneSecret() const {
  if (!established()) return NotEstablished();
  return secret_.Clone();
}

absl::StatusOr<crypto::Sha384Digest> Handshake::transcript() const {
  if (!established() || state_ != State::kIdle) return NotEstablished();
  return transcript_;
}

absl::StatusOr<std::string> Handshake::peer_offer() const {
  if (!established()) return NotEstablished();
  return peer_offer_;
}

absl::StatusOr<std::optional<crypto::SessionId>> Handshake::replaced() const {
  if (!established()) return NotEstablished();
  return replaced_;
}

}  // namespace caravan::session
