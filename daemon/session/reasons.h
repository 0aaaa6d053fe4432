// SPDX-License-Identifier: Apache-2.0
//
// Why a peer was refused: stable upper-case names that end each error message in brackets
// ("nonce of another handshake [EVIDENCE_NONCE]"), stand in alerts, audit records and tests.
// A name that an appraisal gave to its decisive check ("SNP_MEASUREMENT") is used as it is.
#ifndef CARAVAN_DAEMON_SESSION_REASONS_H_
#define CARAVAN_DAEMON_SESSION_REASONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace caravan::session {

// The channel.
inline constexpr absl::string_view kTlsVersion = "TLS_VERSION";
inline constexpr absl::string_view kTlsAlpn = "TLS_ALPN";
inline constexpr absl::string_view kTlsEarlyData = "TLS_EARLY_DATA";
inline constexpr absl::string_view kTlsResumption = "TLS_RESUMPTION";
inline constexpr absl::string_view kTlsNoCertificate = "TLS_NO_CERTIFICATE";
inline constexpr absl::string_view kTlsCertificateChain = "TLS_CERTIFICATE_CHAIN";
inline constexpr absl::string_view kTlsCertificateKey = "TLS_CERTIFICATE_KEY";
inline constexpr absl::string_view kTlsCertificateSignature = "TLS_CERTIFICATE_SIGNATURE";
inline constexpr absl::string_view kTlsMessageSize = "TLS_MESSAGE_SIZE";
inline constexpr absl::string_view kTlsParameters = "TLS_PARAMETERS";  // suite, group, algorithm
inline constexpr absl::string_view kTlsPeerAlert = "TLS_PEER_ALERT";
inline constexpr absl::string_view kTlsProtocol = "TLS_PROTOCOL";
inline constexpr absl::string_view kTlsLocal = "TLS_LOCAL";  // this end's memory or randomness
inline constexpr absl::string_view kExporter = "EXPORTER";
inline constexpr absl::string_view kSelf = "SELF";  // the peer holds this node's own key

// Frames and messages.
inline constexpr absl::string_view kFrameStream = "FRAME_STREAM";
inline constexpr absl::string_view kFrameFlags = "FRAME_FLAGS";
inline constexpr absl::string_view kFrameLength = "FRAME_LENGTH";
inline constexpr absl::string_view kFrameEarly = "FRAME_EARLY";  // stream 1 or 2 before Accept
inline constexpr absl::string_view kFrameEnded = "FRAME_ENDED";  // data after the stream's end
inline constexpr absl::string_view kMessageType = "MESSAGE_TYPE";
inline constexpr absl::string_view kMessageSize = "MESSAGE_SIZE";
inline constexpr absl::string_view kMessageFormat = "MESSAGE_FORMAT";
inline constexpr absl::string_view kMessageOrder = "MESSAGE_ORDER";

// Hello, evidence, Accept.
inline constexpr absl::string_view kHelloVersion = "HELLO_VERSION";
inline constexpr absl::string_view kHelloRole = "HELLO_ROLE";
inline constexpr absl::string_view kHelloRound = "HELLO_ROUND";
inline constexpr absl::string_view kHelloNonce = "HELLO_NONCE";
inline constexpr absl::string_view kHelloReplaces = "HELLO_REPLACES";
inline constexpr absl::string_view kEvidenceRole = "EVIDENCE_ROLE";
inline constexpr absl::string_view kEvidenceRound = "EVIDENCE_ROUND";
inline constexpr absl::string_view kEvidenceSession = "EVIDENCE_SESSION";
inline constexpr absl::string_view kEvidenceNonce = "EVIDENCE_NONCE";
inline constexpr absl::string_view kEvidencePolicy = "EVIDENCE_POLICY";
inline constexpr absl::string_view kEvidenceFormat = "EVIDENCE_FORMAT";
inline constexpr absl::string_view kAppraisal = "APPRAISAL";  // no decisive check was named
inline constexpr absl::string_view kAttester = "ATTESTER";    // this node could not make evidence
inline constexpr absl::string_view kAcceptRound = "ACCEPT_ROUND";
inline constexpr absl::string_view kAcceptMac = "ACCEPT_MAC";  // wrong pre-shared key or transcript

// The host.
inline constexpr absl::string_view kHalfOpen = "HALF_OPEN";
inline constexpr absl::string_view kHalfOpenSource = "HALF_OPEN_SOURCE";
inline constexpr absl::string_view kSessions = "SESSIONS";  // too many are open
inline constexpr absl::string_view kEvidenceRate = "EVIDENCE_RATE";
inline constexpr absl::string_view kDeadline = "DEADLINE";
inline constexpr absl::string_view kCrossing = "CROSSING";
inline constexpr absl::string_view kReplaced = "REPLACED";  // ask over the newer session
inline constexpr absl::string_view kClosed = "CLOSED";
inline constexpr absl::string_view kLost = "LOST";  // TCP ended without a farewell

// Longest name, in bytes; names are of [A-Z0-9_].
inline constexpr size_t kMaxReasonSize = 64;

bool IsReason(absl::string_view name);

// A status whose message is `text` and then the reason in brackets.
absl::Status Refusal(absl::StatusCode code, absl::string_view reason, absl::string_view text);

// The reason at the end of the message, or "" when there is none.
std::string ReasonOf(const absl::Status& status);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_REASONS_H_
