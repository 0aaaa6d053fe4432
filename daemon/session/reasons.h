// SPDX-License-Identifier: Apache-2.0
//
// The words by which a peer is refused, of the table in base/reason_table.h.
#ifndef CARAVAN_DAEMON_SESSION_REASONS_H_
#define CARAVAN_DAEMON_SESSION_REASONS_H_

#include "absl/strings/string_view.h"
#include "base/reason.h"

namespace caravan::session {

using base::IsReason;
using base::kMaxReasonSize;
using base::ReasonOf;
using base::Refusal;

// The channel.
inline constexpr absl::string_view kTlsVersion = base::Known("TLS_VERSION");
inline constexpr absl::string_view kTlsAlpn = base::Known("TLS_ALPN");
inline constexpr absl::string_view kTlsEarlyData = base::Known("TLS_EARLY_DATA");
inline constexpr absl::string_view kTlsResumption = base::Known("TLS_RESUMPTION");
inline constexpr absl::string_view kTlsNoCertificate = base::Known("TLS_NO_CERTIFICATE");
inline constexpr absl::string_view kTlsCertificateChain = base::Known("TLS_CERTIFICATE_CHAIN");
inline constexpr absl::string_view kTlsCertificateKey = base::Known("TLS_CERTIFICATE_KEY");
inline constexpr absl::string_view kTlsCertificateSignature =
    base::Known("TLS_CERTIFICATE_SIGNATURE");
inline constexpr absl::string_view kTlsMessageSize = base::Known("TLS_MESSAGE_SIZE");
inline constexpr absl::string_view kTlsParameters =
    base::Known("TLS_PARAMETERS");  // suite, group, algorithm
inline constexpr absl::string_view kTlsPeerAlert = base::Known("TLS_PEER_ALERT");
inline constexpr absl::string_view kTlsProtocol = base::Known("TLS_PROTOCOL");
inline constexpr absl::string_view kTlsLocal =
    base::Known("TLS_LOCAL");  // this end's memory or randomness
inline constexpr absl::string_view kExporter = base::Known("EXPORTER");
inline constexpr absl::string_view kSelf =
    base::Known("SELF");  // the peer holds this node's own key

// Frames and messages.
inline constexpr absl::string_view kFrameStream = base::Known("FRAME_STREAM");
inline constexpr absl::string_view kFrameFlags = base::Known("FRAME_FLAGS");
inline constexpr absl::string_view kFrameLength = base::Known("FRAME_LENGTH");
inline constexpr absl::string_view kFrameEarly =
    base::Known("FRAME_EARLY");  // stream 1 or 2 before Accept
inline constexpr absl::string_view kFrameEnded =
    base::Known("FRAME_ENDED");  // data after the stream's end
inline constexpr absl::string_view kMessageType = base::Known("MESSAGE_TYPE");
inline constexpr absl::string_view kMessageSize = base::Known("MESSAGE_SIZE");
inline constexpr absl::string_view kMessageFormat = base::Known("MESSAGE_FORMAT");
inline constexpr absl::string_view kMessageOrder = base::Known("MESSAGE_ORDER");

// Hello, evidence, Accept.
inline constexpr absl::string_view kHelloVersion = base::Known("HELLO_VERSION");
inline constexpr absl::string_view kHelloRole = base::Known("HELLO_ROLE");
inline constexpr absl::string_view kHelloRound = base::Known("HELLO_ROUND");
inline constexpr absl::string_view kHelloNonce = base::Known("HELLO_NONCE");
inline constexpr absl::string_view kHelloReplaces = base::Known("HELLO_REPLACES");
inline constexpr absl::string_view kEvidenceRole = base::Known("EVIDENCE_ROLE");
inline constexpr absl::string_view kEvidenceRound = base::Known("EVIDENCE_ROUND");
inline constexpr absl::string_view kEvidenceSession = base::Known("EVIDENCE_SESSION");
inline constexpr absl::string_view kEvidenceNonce = base::Known("EVIDENCE_NONCE");
inline constexpr absl::string_view kEvidencePolicy = base::Known("EVIDENCE_POLICY");
inline constexpr absl::string_view kEvidenceFormat = base::Known("EVIDENCE_FORMAT");
inline constexpr absl::string_view kAppraisal =
    base::Known("APPRAISAL");  // no decisive check was named
inline constexpr absl::string_view kAttester =
    base::Known("ATTESTER");  // this node could not make evidence
inline constexpr absl::string_view kAcceptRound = base::Known("ACCEPT_ROUND");
inline constexpr absl::string_view kAcceptMac =
    base::Known("ACCEPT_MAC");  // wrong pre-shared key or transcript

// The host.
inline constexpr absl::string_view kHalfOpen = base::Known("HALF_OPEN");
inline constexpr absl::string_view kHalfOpenSource = base::Known("HALF_OPEN_SOURCE");
inline constexpr absl::string_view kSessions = base::Known("SESSIONS");  // too many are open
inline constexpr absl::string_view kEvidenceRate = base::Known("EVIDENCE_RATE");
inline constexpr absl::string_view kDeadline = base::Known("DEADLINE");
inline constexpr absl::string_view kCrossing = base::Known("CROSSING");
inline constexpr absl::string_view kReplaced =
    base::Known("REPLACED");  // ask over the newer session
inline constexpr absl::string_view kClosed = base::Known("CLOSED");
inline constexpr absl::string_view kLost = base::Known("LOST");  // TCP ended without a farewell

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_REASONS_H_
