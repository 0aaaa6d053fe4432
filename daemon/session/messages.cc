// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "crypto/hash.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using crypto::ByteReader;
using crypto::ByteWriter;

constexpr size_t kReplacementSize = 16 + 48;
constexpr size_t kHelloFixedSize = 1 + 1 + 4 + kNonceSize + 32 + 1 + 4;
constexpr size_t kEvidenceFixedSize = 1 + 4 + 16 + kNonceSize + 32 + 4;

size_t MaxPayload(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return kHelloFixedSize + kReplacementSize + kMaxOfferSize;
    case MessageType::kEvidence:
      return kEvidenceFixedSize + attestation::kMaxEvidenceSize;
    case MessageType::kAccept:
      return 4 + 48;
    case MessageType::kAlert:
      return 1 + 4 + kMaxReasonSize;
    case MessageType::kRoundRequest:
      return 4;
  }
  return 0;
}

absl::StatusOr<MessageType> ToType(uint8_t value) {
  if (value < static_cast<uint8_t>(MessageType::kHello) ||
      value > static_cast<uint8_t>(MessageType::kRoundRequest)) {
    return Refusal(absl::StatusCode::kInvalidArgument, kMessageType,
                   absl::StrCat("message of unknown type ", value));
  }
  return static_cast<MessageType>(value);
}

std::string Wrap(MessageType type, const ByteWriter& payload) {
  ByteWriter out;
  out.U8(static_cast<uint8_t>(type)).Prefixed(payload.str());
  return std::move(out.Take());
}

absl::Status Malformed(const absl::Status& cause) {
  return Refusal(absl::StatusCode::kInvalidArgument, kMessageFormat, cause.message());
}

template <size_t N>
absl::Status ReadArray(ByteReader& reader, const char* what, std::array<uint8_t, N>* out) {
  absl::StatusOr<absl::Span<const uint8_t>> bytes = reader.Fixed(N, what);
  if (!bytes.ok()) return bytes.status();
  std::copy(bytes->begin(), bytes->end(), out->begin());
  return absl::OkStatus();
}

absl::Status ReadRole(ByteReader& reader, const char* what, crypto::Role* out) {
  absl::StatusOr<uint8_t> role = reader.U8(what);
  if (!role.ok()) return role.status();
  if (*role > 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", *role, ", expected 0 or 1"));
  }
  *out = static_cast<crypto::Role>(*role);
  return absl::OkStatus();
}

absl::Status ReadU32(ByteReader& reader, const char* what, uint32_t* out) {
  absl::StatusOr<uint32_t> value = reader.U32(what);
  if (!value.ok()) return value.status();
  *out = *value;
  return absl::OkStatus();
}

absl::Status ReadText(ByteReader& reader, size_t max, const char* what, std::string* out) {
  absl::StatusOr<absl::Span<const uint8_t>> bytes = reader.Prefixed(max, what);
  if (!bytes.ok()) return bytes.status();
  out->assign(bytes->begin(), bytes->end());
  return absl::OkStatus();
}

absl::Status ReadReplacement(ByteReader& reader, Hello* hello) {
  absl::StatusOr<uint8_t> kind = reader.U8("hello kind");
  if (!kind.ok()) return kind.status();
  if (*kind == 0) return absl::OkStatus();
  if (*kind != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello kind is ", *kind, ", expected 0 (new) or 1 (replaces)"));
  }
  Replacement replacement;
  absl::Status status = ReadArray(reader, "replaced session", &replacement.old_session);
  if (status.ok()) status = ReadArray(reader, "replacement mac", &replacement.mac);
  hello->replaces = replacement;
  return status;
}

// A reader over the payload of a message that MessageReader has measured, and its one way out.
template <typename Message, typename Parse>
absl::StatusOr<Message> Decode(absl::Span<const uint8_t> bytes, MessageType type, const char* what,
                               Parse parse) {
  ByteReader reader(bytes);
  absl::StatusOr<uint8_t> tag = reader.U8("message type");
  if (!tag.ok()) return Malformed(tag.status());
  if (*tag != static_cast<uint8_t>(type)) {
    return Malformed(absl::InvalidArgumentError(absl::StrCat("not a ", what, " message")));
  }
  absl::StatusOr<uint32_t> size = reader.U32("message length");
  if (!size.ok()) return Malformed(size.status());
  if (*size != reader.remaining()) {
    return Malformed(absl::InvalidArgumentError(
        absl::StrCat(what, " message says ", *size, " bytes and has ", reader.remaining())));
  }
  Message message;
  absl::Status status = parse(reader, &message);
  if (status.ok()) status = reader.Finish(what);
  if (status.ok()) return message;
  return ReasonOf(status).empty() ? Malformed(status) : status;
}

}  // namespace

std::string Encode(const Hello& hello) {
  ByteWriter out;
  out.U8(kProtocolVersion).U8(static_cast<uint8_t>(hello.role)).U32(hello.round);
  out.Fixed(hello.nonce).Fixed(hello.policy_digest).U8(hello.replaces.has_value() ? 1 : 0);
  if (hello.replaces.has_value()) {
    out.Fixed(hello.replaces->old_session).Fixed(hello.replaces->mac);
  }
  out.Prefixed(hello.offer);
  return Wrap(MessageType::kHello, out);
}

std::string Encode(const EvidenceMessage& evidence) {
  ByteWriter out;
  out.U8(static_cast<uint8_t>(evidence.role)).U32(evidence.round).Fixed(evidence.session);
  out.Fixed(evidence.nonce).Fixed(evidence.policy_digest).Prefixed(evidence.evidence);
  return Wrap(MessageType::kEvidence, out);
}

std::string Encode(const Accept& accept) {
  ByteWriter out;
  out.U32(accept.round).Fixed(accept.mac);
  return Wrap(MessageType::kAccept, out);
}

std::string Encode(const Alert& alert) {
  ByteWriter out;
  out.U8(static_cast<uint8_t>(alert.code)).Prefixed(alert.reason);
  return Wrap(MessageType::kAlert, out);
}

std::string Encode(const RoundRequest& request) {
  ByteWriter out;
  out.U32(request.round);
  return Wrap(MessageType::kRoundRequest, out);
}

absl::StatusOr<MessageType> TypeOf(absl::Span<const uint8_t> message) {
  return ToType(message.empty() ? 0 : message[0]);
}

absl::StatusOr<Hello> DecodeHello(absl::Span<const uint8_t> message) {
  return Decode<Hello>(
      message, MessageType::kHello, "hello", [](ByteReader& reader, Hello* hello) -> absl::Status {
        absl::StatusOr<uint8_t> version = reader.U8("hello version");
        if (!version.ok()) return version.status();
        if (*version != kProtocolVersion) {
          return Refusal(absl::StatusCode::kInvalidArgument, kHelloVersion,
                         absl::StrCat("peer speaks version ", *version,
                                      " of the protocol, expected ", kProtocolVersion));
        }
        absl::Status status = ReadRole(reader, "hello role", &hello->role);
        if (status.ok()) status = ReadU32(reader, "hello round", &hello->round);
        if (status.ok()) status = ReadArray(reader, "hello nonce", &hello->nonce);
        if (status.ok()) status = ReadArray(reader, "hello policy digest", &hello->policy_digest);
        if (status.ok()) status = ReadReplacement(reader, hello);
        if (status.ok()) status = ReadText(reader, kMaxOfferSize, "hello offer", &hello->offer);
        return status;
      });
}

absl::StatusOr<EvidenceMessage> DecodeEvidence(absl::Span<const uint8_t> message) {
  return Decode<EvidenceMessage>(
      message, MessageType::kEvidence, "evidence",
      [](ByteReader& reader, EvidenceMessage* evidence) {
        absl::Status status = ReadRole(reader, "evidence role", &evidence->role);
        if (status.ok()) status = ReadU32(reader, "evidence round", &evidence->round);
        if (status.ok()) status = ReadArray(reader, "evidence session", &evidence->session);
        if (status.ok()) status = ReadArray(reader, "evidence nonce", &evidence->nonce);
        if (status.ok()) {
          status = ReadArray(reader, "evidence policy digest", &evidence->policy_digest);
        }
        if (status.ok()) {
          status = ReadText(reader, attestation::kMaxEvidenceSize, "evidence", &evidence->evidence);
        }
        return status;
      });
}

absl::StatusOr<Accept> DecodeAccept(absl::Span<const uint8_t> message) {
  return Decode<Accept>(message, MessageType::kAccept, "accept",
                        [](ByteReader& reader, Accept* accept) {
                          absl::Status status = ReadU32(reader, "accept round", &accept->round);
                          if (status.ok()) status = ReadArray(reader, "accept mac", &accept->mac);
                          return status;
                        });
}

absl::StatusOr<Alert> DecodeAlert(absl::Span<const uint8_t> message) {
  return Decode<Alert>(
      message, MessageType::kAlert, "alert", [](ByteReader& reader, Alert* alert) -> absl::Status {
        absl::StatusOr<uint8_t> code = reader.U8("alert code");
        if (!code.ok()) return code.status();
        if (*code == 0 || *code > static_cast<uint8_t>(absl::StatusCode::kUnauthenticated)) {
          return absl::InvalidArgumentError(absl::StrCat("alert code is ", *code));
        }
        alert->code = static_cast<absl::StatusCode>(*code);
        absl::Status status = ReadText(reader, kMaxReasonSize, "alert reason", &alert->reason);
        if (status.ok() && !IsReason(alert->reason)) {
          status = absl::InvalidArgumentError("alert reason is not a name of [A-Z0-9_]");
        }
        return status;
      });
}

absl::StatusOr<RoundRequest> DecodeRoundRequest(absl::Span<const uint8_t> message) {
  return Decode<RoundRequest>(message, MessageType::kRoundRequest, "round request",
                              [](ByteReader& reader, RoundRequest* request) {
                                return ReadU32(reader, "requested round", &request->round);
                              });
}

void MessageReader::Feed(absl::Span<const uint8_t> payload) {
  buffer_.append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

absl::StatusOr<std::optional<std::string>> MessageReader::Next() {
  if (buffer_.size() < kMessageHeaderSize) return std::nullopt;
  ByteReader reader(crypto::AsBytes(buffer_));
  absl::StatusOr<MessageType> type = ToType(*reader.U8("message type"));
  if (!type.ok()) return type.status();
  const size_t size = *reader.U32("message length");
  if (size > MaxPayload(*type)) {
    return Refusal(absl::StatusCode::kInvalidArgument, kMessageSize,
                   absl::StrCat("message of type ", static_cast<int>(*type), " has ", size,
                                " bytes, expected at most ", MaxPayload(*type)));
  }
  const size_t whole = kMessageHeaderSize + size;
  if (buffer_.size() < whole) return std::nullopt;
  std::string message = buffer_.substr(0, whole);
  buffer_.erase(0, whole);
  return message;
}

}  // namespace caravan::session
