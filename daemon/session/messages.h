// SPDX-License-Identifier: Apache-2.0
//
// Messages of the control stream: {type u8, length u32, payload}, little-endian, each field at
// its fixed width or length-prefixed, nothing after the last one (docs/protocol.md, "Handshake").
#ifndef CARAVAN_DAEMON_SESSION_MESSAGES_H_
#define CARAVAN_DAEMON_SESSION_MESSAGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attestation/evidence.h"
#include "crypto/key_tree.h"

namespace caravan::session {

inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr size_t kNonceSize = 32;
inline constexpr size_t kMaxOfferSize = 1024;
inline constexpr size_t kMessageHeaderSize = 5;

using Nonce = std::array<uint8_t, kNonceSize>;

enum class MessageType : uint8_t {
  kHello = 1,
  kEvidence = 2,
  kAccept = 3,
  kAlert = 4,         // refused: why; ends the connection
  kRoundRequest = 5,  // the responder asks the initiator to start a round
};

// Proof that this session continues an older one between the same two nodes.
struct Replacement {
  crypto::SessionId old_session{};
  crypto::Sha384Digest mac{};
};

struct Hello {
  crypto::Role role = crypto::Role::kInitiator;  // the sender's
  uint32_t round = 0;
  Nonce nonce{};                         // the sender's challenge to the other side
  crypto::Sha256Digest policy_digest{};  // of the policy that the sender appraises with
  std::optional<Replacement> replaces;   // round 0 only
  std::string offer;                     // at most kMaxOfferSize bytes, opaque
};

// Repeats what the evidence answers, so that a misdirected message is refused by its cause. None
// of it is believed: the report inside is bound to all of it, and to the channel besides.
struct EvidenceMessage {
  crypto::Role role = crypto::Role::kInitiator;  // the attester's
  uint32_t round = 0;
  crypto::SessionId session{};
  Nonce nonce{};                         // the verifier's, from its Hello
  crypto::Sha256Digest policy_digest{};  // the verifier's, from its Hello
  std::string evidence;                  // an encoded EvidenceSet
};

struct Accept {
  uint32_t round = 0;
  crypto::Sha384Digest mac{};
};

// All that a refused peer learns: the category and the name of the check.
struct Alert {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string reason;  // daemon/session/reasons.h
};

struct RoundRequest {
  uint32_t round = 0;
};

// Whole messages, header included.
std::string Encode(const Hello& hello);
std::string Encode(const EvidenceMessage& evidence);
std::string Encode(const Accept& accept);
std::string Encode(const Alert& alert);
std::string Encode(const RoundRequest& request);

// The type of a whole message. InvalidArgument, reason MESSAGE_TYPE, on an unknown one.
absl::StatusOr<MessageType> TypeOf(absl::Span<const uint8_t> message);

// Each takes a whole message of its type. InvalidArgument, reason MESSAGE_FORMAT (HELLO_VERSION
// for another version), naming the field, when anything is short, over its limit or left over.
absl::StatusOr<Hello> DecodeHello(absl::Span<const uint8_t> message);
absl::StatusOr<EvidenceMessage> DecodeEvidence(absl::Span<const uint8_t> message);
absl::StatusOr<Accept> DecodeAccept(absl::Span<const uint8_t> message);
absl::StatusOr<Alert> DecodeAlert(absl::Span<const uint8_t> message);
absl::StatusOr<RoundRequest> DecodeRoundRequest(absl::Span<const uint8_t> message);

// Puts control frames' payloads together to whole messages. A length is compared with the limit
// of its type before a byte of the payload is kept.
class MessageReader {
 public:
  void Feed(absl::Span<const uint8_t> payload);
  // The next whole message, or nothing yet. InvalidArgument with reason MESSAGE_TYPE or
  // MESSAGE_SIZE; the reader is dead then.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  std::string buffer_;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_MESSAGES_H_
