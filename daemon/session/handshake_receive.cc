// SPDX-License-Identifier: Apache-2.0
//
// What the handshake does with the peer's messages.
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/session/handshake.h"
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
  absl::StatusOr<crypto::Sha384Digest> expected = ReplacementMac(
      *old_secret, peer_role(), SpkiOf(Role::kInitiator), SpkiOf(Role::kResponder), session_id_);
  if (!expected.ok()) return expected.status();
  if (!MacMatches(*expected, hello.replaces->mac)) {
    return refuse("hello does not prove the secret of the session it replaces");
  }
  replaced_ = hello.replaces->old_session;
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
    return refuse(kEvidenceRound,
                  absl::StrCat("evidence of round ", evidence.round, ", expected ", round_));
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
  absl::StatusOr<attestation::EvidenceRequest> expected = RequestOf(ChallengeTo(peer_role()));
  if (!expected.ok()) return expected.status();
  request_ = *expected;
  messages_.emplace_back(message.begin(), message.end());
  peer_evidence_ = std::move(evidence->evidence);
  state_ = State::kAppraise;
  return absl::OkStatus();
}

absl::Status Handshake::ProvideAppraisal(const absl::StatusOr<attestation::Appraisal>& appraisal) {
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
  status_ = Refusal(
      alert->code, alert->reason,
      absl::StrCat(established_ ? "the peer ended the session: " : "the peer refused this node: ",
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

}  // namespace caravan::session
