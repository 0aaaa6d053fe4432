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

absl::Status OutOfOrder(absl::string_view what) {
  return Refusal(StatusCode::kInvalidArgument, kMessageOrder,
                 absl::StrCat(what, " out of order: the handshake waits for something else"));
}

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

absl::Status Handshake::OnMessage(absl::Span<const uint8_t> message) {
  if (!status_.ok()) return status_;
  absl::Status status = Dispatch(message);
  if (status.ok()) return status;
  if (state_ == State::kDead) return status;  // by an alert: there is nobody to tell
  return Fail(status);
}

absl::Status Handshake::Dispatch(absl::Span<const uint8_t> message) {
  absl::StatusOr<MessageType> type = TypeOf(message);
  if (!type.ok()) return type.status();
  switch (*type) {
    case MessageType::kHello:
      return TakeHello(message);
    case MessageType::kEvidence:
      return TakeEvidence(message);
    case MessageType::kAccept:
      return TakeAccept(message);
    case MessageType::kAlert:
      return TakeAlert(message);
    case MessageType::kRoundRequest:
      return TakeRoundRequest(message);
  }
  return OutOfOrder("message");
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

absl::Status Handshake::TakeHello(absl::Span<const uint8_t> message) {
  const bool new_round = state_ == State::kIdle && !initiator();
  if (state_ != State::kHello && !new_round) return OutOfOrder("hello");
  absl::StatusOr<Hello> hello = DecodeHello(message);
  if (!hello.ok()) return hello.status();
  const uint32_t round = new_round ? round_ + 1 : round_;
  if (hello->role != peer_role()) {
    return Refusal(StatusCode::kPermissionDenied, kHelloRole,
                   "hello speaks for this end's own role: reflected");
  }
  if (hello->round != round) {
    return Refusal(StatusCode::kPermissionDenied, kHelloRound,
                   absl::StrCat("hello of round ", hello->round, ", expected ", round));
  }
  if (hello->nonce == Nonce{} || (initiator() && hello->nonce == local_hello_.nonce)) {
    return Refusal(StatusCode::kPermissionDenied, kHelloNonce,
                   "hello with a nonce of zeros or this end's own");
  }
  if (absl::Status status = CheckReplacement(*hello); !status.ok()) return status;
  peer_hello_ = *std::move(hello);
  if (round == 0) peer_offer_ = peer_hello_.offer;
  if (!initiator()) messages_.clear();
  messages_.emplace_back(message.begin(), message.end());
  if (!initiator()) {
    round_ = round;
    round_requested_ = false;
    if (absl::Status status = SendHello(); !status.ok()) return status;
    state_ = State::kEvidence;
    return absl::OkStatus();
  }
  return WantEvidence();
}

absl::Status Handshake::CheckReplacement(const Hello& hello) {
  const auto refuse = [](absl::string_view why) {
    return Refusal(StatusCode::kPermissionDenied, kHelloReplaces, why);
  };
  if (!hello.replaces.has_value()) {
    if (initiator() && options_.replaces.has_value() && round_ == 0) {
      return refuse("hello of a new session in answer to one that replaces another");
    }
    return absl::OkStatus();
  }
  if (established_) return refuse("hello of a later round names a session to replace");
  const crypto::SecretBytes* old_secret = &options_.replaced_secret;
  if (initiator()) {
    if (!options_.replaces.has_value() || *options_.replaces != hello.replaces->old_session) {
      return refuse("hello replaces a session that this end did not name");
    }
  } else {
    if (!options_.find_replaced) return refuse("this end replaces no session");
    absl::StatusOr<crypto::SecretBytes> found = options_.find_replaced(hello.replaces->old_session);
    if (!found.ok()) return refuse("hello replaces a session that is not open with this peer");
    options_.replaced_secret = *std::move(found);
    options_.replaces = hello.replaces->old_session;
  }
  absl::StatusOr<crypto::Sha384Digest> expected =
      ReplacementMac(*old_secret, peer_role(), SpkiOf(Role::kInitiator), SpkiOf(Role::kResponder),
                     session_id_);
  if (!expected.ok()) return expected.status();
  if (!MacMatches(*expected, hello.replaces->mac)) {
    return refuse("hello does not prove the secret of the session it replaces");
  }
  replaced_ = hello.replaces->old_session;
  return absl::OkStatus();
}

Challenge Handshake::ChallengeTo(Role attester) const {
  const Hello& verifier = attester == options_.role ? peer_hello_ : local_hello_;
  return Challenge{attester, round_, verifier.nonce, verifier.policy_digest};
}

absl::StatusOr<attestation::ReportData> Handshake::ReportDataOf(const Challenge& challenge) const {
  absl::StatusOr<attestation::Binder> binder = ExportBinder(options_.exporter, challenge);
  if (!binder.ok()) return binder.status();
  return attestation::MakeReportData(challenge.attester, *binder,
                                     crypto::Sha256(crypto::AsBytes(SpkiOf(challenge.attester))),
                                     attestation::kSessionPurpose, session_id_);
}

bool Handshake::MacMatches(const crypto::Sha384Digest& expected,
                           const crypto::Sha384Digest& received) const {
  return crypto::ConstantTimeEquals(expected, received);
}

absl::Status Handshake::WantEvidence() {
  absl::StatusOr<attestation::ReportData> data = ReportDataOf(ChallengeTo(options_.role));
  if (!data.ok()) return data.status();
  report_data_ = *data;
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

absl::Status Handshake::CheckAnswers(const EvidenceMessage& evidence) const {
  const auto refuse = [](absl::string_view reason, absl::string_view why) {
    return Refusal(StatusCode::kPermissionDenied, reason, why);
  };
  if (evidence.role != peer_role()) {
    return refuse(kEvidenceRole, "evidence speaks for this end's own role: reflected");
  }
  if (evidence.session != session_id_) {
    return refuse(kEvidenceSession, "evidence was made for another session");
  }
  if (evidence.round != round_) {
    return refuse(kEvidenceRound, absl::StrCat("evidence of round ", evidence.round, ", expected ",
                                               round_));
  }
  if (evidence.nonce != local_hello_.nonce) {
    return refuse(kEvidenceNonce, "evidence answers another nonce than this end's");
  }
  if (evidence.policy_digest != local_hello_.policy_digest) {
    return refuse(kEvidencePolicy, "evidence answers another policy than this end's");
  }
  return absl::OkStatus();
}

absl::Status Handshake::TakeEvidence(absl::Span<const uint8_t> message) {
  if (state_ != State::kEvidence) return OutOfOrder("evidence");
  absl::StatusOr<EvidenceMessage> evidence = DecodeEvidence(message);
  if (!evidence.ok()) return evidence.status();
  if (absl::Status status = CheckAnswers(*evidence); !status.ok()) return status;
  absl::StatusOr<attestation::ReportData> expected = ReportDataOf(ChallengeTo(peer_role()));
  if (!expected.ok()) return expected.status();
  report_data_ = *expected;
  messages_.emplace_back(message.begin(), message.end());
  peer_evidence_ = std::move(evidence->evidence);
  state_ = State::kAppraise;
  return absl::OkStatus();
}

absl::Status Handshake::ProvideAppraisal(
    const absl::StatusOr<attestation::Appraisal>& appraisal) {
  if (!status_.ok()) return status_;
  if (state_ != State::kAppraise) return absl::FailedPreconditionError("no appraisal is wanted");
  peer_evidence_.clear();
  if (!appraisal.ok()) {
    return Fail(Refusal(StatusCode::kPermissionDenied, kEvidenceFormat,
                        absl::StrCat("evidence cannot be read: ", appraisal.status().message())));
  }
  if (!appraisal->accepted()) {
    const attestation::Check* check = appraisal->Decisive();
    const absl::Status why = appraisal->ToStatus();
    if (!ReasonOf(why).empty()) return Fail(why);
    const std::string reason =
        check != nullptr && IsReason(check->id) ? check->id : std::string(kAppraisal);
    return Fail(Refusal(why.ok() ? StatusCode::kPermissionDenied : why.code(), reason,
                        absl::StrCat("evidence refused: ", why.message())));
  }
  if (!initiator()) return WantEvidence();
  if (absl::Status status = CloseTranscript(); !status.ok()) return Fail(status);
  if (absl::Status status = SendAccept(); !status.ok()) return Fail(status);
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
  return absl::OkStatus();
}

absl::Status Handshake::SendAccept() {
  absl::StatusOr<crypto::Sha384Digest> mac =
      crypto::AcceptMac(secret_, options_.role, round_, transcript_);
  if (!mac.ok()) return mac.status();
  Send(Encode(Accept{round_, *mac}), /*in_transcript=*/false);
  return absl::OkStatus();
}

absl::Status Handshake::TakeAccept(absl::Span<const uint8_t> message) {
  if (state_ != State::kAccept) return OutOfOrder("accept");
  absl::StatusOr<Accept> accept = DecodeAccept(message);
  if (!accept.ok()) return accept.status();
  if (accept->round != round_) {
    return Refusal(StatusCode::kPermissionDenied, kAcceptRound,
                   absl::StrCat("accept of round ", accept->round, ", expected ", round_));
  }
  absl::StatusOr<crypto::Sha384Digest> expected =
      crypto::AcceptMac(secret_, peer_role(), round_, transcript_);
  if (!expected.ok()) return expected.status();
  if (!MacMatches(*expected, accept->mac)) {
    return Refusal(StatusCode::kPermissionDenied, kAcceptMac,
                   "accept does not verify: another pre-shared key, or another transcript");
  }
  if (!initiator()) {
    if (absl::Status status = SendAccept(); !status.ok()) return status;
  }
  established_ = true;
  state_ = State::kIdle;
  return absl::OkStatus();
}

absl::Status Handshake::TakeAlert(absl::Span<const uint8_t> message) {
  absl::StatusOr<Alert> alert = DecodeAlert(message);
  if (!alert.ok()) return alert.status();
  state_ = State::kDead;
  status_ = Refusal(alert->code, alert->reason,
                    absl::StrCat(established_ ? "the peer ended the session: "
                                              : "the peer refused this node: ",
                                 absl::StatusCodeToString(alert->code)));
  return status_;
}

absl::Status Handshake::TakeRoundRequest(absl::Span<const uint8_t> message) {
  if (!initiator() || !established_) return OutOfOrder("round request");
  absl::StatusOr<RoundRequest> request = DecodeRoundRequest(message);
  if (!request.ok()) return request.status();
  // Both ends started at once: the initiator's round is the one.
  if (state_ == State::kHello && request->round == round_) return absl::OkStatus();
  if (state_ != State::kIdle || request->round != round_ + 1) return OutOfOrder("round request");
  return StartRound();
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
