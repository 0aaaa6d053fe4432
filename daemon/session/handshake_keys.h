// SPDX-License-Identifier: Apache-2.0
//
// What the handshake derives from the channel: one function for each line of docs/protocol.md,
// "Handshake", so that both ends and the tests cannot differ.
#ifndef CARAVAN_DAEMON_SESSION_HANDSHAKE_KEYS_H_
#define CARAVAN_DAEMON_SESSION_HANDSHAKE_KEYS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attestation/binder.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "daemon/session/messages.h"

namespace caravan::session {

// TLS-Exporter(label, context, size) of one channel (RFC 8446, 7.5).
using Exporter = std::function<absl::StatusOr<crypto::SecretBytes>(
    std::string_view label, absl::Span<const uint8_t> context, size_t size)>;

// The exporter's value, or Internal with reason EXPORTER when it failed, came in another size or
// is all zeros: a channel that cannot be named binds nothing.
absl::StatusOr<crypto::SecretBytes> Export(const Exporter& exporter, std::string_view label,
                                           absl::Span<const uint8_t> context, size_t size);

absl::StatusOr<crypto::SessionId> ExportSessionId(const Exporter& exporter);

// What evidence must answer: who attests, and what the verifier asked for.
struct Challenge {
  crypto::Role attester = crypto::Role::kInitiator;
  uint32_t round = 0;
  Nonce nonce{};                         // the verifier's
  crypto::Sha256Digest policy_digest{};  // the verifier's
};

absl::StatusOr<attestation::Binder> ExportBinder(const Exporter& exporter,
                                                 const Challenge& challenge);

// th(round): SHA-384 over both SPKIs and the raw messages of the round, each length-prefixed.
crypto::Sha384Digest TranscriptHash(std::string_view initiator_spki,
                                    std::string_view responder_spki,
                                    const std::vector<std::string>& messages);

// session_secret = HKDF-Extract(psk, TLS-Exporter("caravan/1 session", th(0), 48)).
absl::StatusOr<crypto::SecretBytes> ExportSessionSecret(const Exporter& exporter,
                                                        const crypto::Sha384Digest& transcript,
                                                        const crypto::SecretBytes& psk);

// HMAC-SHA-384(Expand(old session_secret, "replace", role, 48), SPKI_I ‖ SPKI_R ‖ new id), each
// SPKI length-prefixed; `role` is the sender's in the new session.
absl::StatusOr<crypto::Sha384Digest> ReplacementMac(const crypto::SecretBytes& old_secret,
                                                    crypto::Role role,
                                                    std::string_view initiator_spki,
                                                    std::string_view responder_spki,
                                                    const crypto::SessionId& new_session);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_HANDSHAKE_KEYS_H_
