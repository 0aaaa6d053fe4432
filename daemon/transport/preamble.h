// SPDX-License-Identifier: Apache-2.0
//
// The preamble of a data connection (docs/protocol.md, "A data connection"):
//
//   dialler   {magic u32, version u16, lane u16, session id[16], epoch id[32], nonce_c[32]}  88
//   acceptor  {nonce_s[32]}                                                                  32
//   dialler   confirmation[16]
//   acceptor  confirmation[16]
//
// A confirmation is the AES-256-GCM tag under that direction's connection key, nonce 0, empty
// plaintext, the first two messages as associated data.
#ifndef CARAVAN_DAEMON_TRANSPORT_PREAMBLE_H_
#define CARAVAN_DAEMON_TRANSPORT_PREAMBLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"

namespace caravan::transport {

inline constexpr uint32_t kPreambleMagic = 0x44525643;  // "CVRD"
inline constexpr uint16_t kPreambleVersion = 1;
inline constexpr size_t kDiallerHelloSize = 88;
inline constexpr size_t kNonceSize = 32;
inline constexpr size_t kConfirmationSize = 16;

using DiallerHello = std::array<uint8_t, kDiallerHelloSize>;
using Nonce = std::array<uint8_t, kNonceSize>;
using Confirmation = std::array<uint8_t, kConfirmationSize>;

enum class Direction : uint8_t { kFromDialler = 0, kFromAcceptor = 1 };

absl::StatusOr<Nonce> RandomNonce();
DiallerHello EncodeHello(const crypto::ConnectionId& id);
// Fills all but the acceptor's nonce. InvalidArgument on a wrong magic or version.
absl::StatusOr<crypto::ConnectionId> DecodeHello(absl::Span<const uint8_t> hello);

absl::StatusOr<Confirmation> Confirm(const crypto::SecretBytes& session_secret,
                                     const crypto::ConnectionId& id, Direction direction);
// PermissionDenied when `confirmation` is not the one of `direction`.
absl::Status CheckConfirmation(const crypto::SecretBytes& session_secret,
                               const crypto::ConnectionId& id, Direction direction,
                               absl::Span<const uint8_t> confirmation);

}  // namespace caravan::transport

#endif  // CARAVAN_DAEMON_TRANSPORT_PREAMBLE_H_
