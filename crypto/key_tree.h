// SPDX-License-Identifier: Apache-2.0
//
// The key tree: every key of Caravan and where it comes from (docs/protocol.md, "Epochs and
// keys").
//
//   session_secret[48] ─┬─ accept keys          (handshake)
//                       ├─ wrap keys            (an epoch secret on its way to a member)
//                       ├─ connection keys      (a data connection's preamble)
//                       └─ with epoch_secret ── pair parents ── op keys
//   epoch_secret[48] ───┬─ sender parents ── op keys
//                       └─ confirm keys
//
// Every step is Expand(parent, label, fields…, n) = HKDF-Expand-SHA-384 with
// info = u8 length ‖ "caravan/1 " ‖ label ‖ fields at their wire widths.
#ifndef CARAVAN_CRYPTO_KEY_TREE_H_
#define CARAVAN_CRYPTO_KEY_TREE_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/aead.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::crypto {

inline constexpr size_t kParentSize = 48;
inline constexpr uint16_t kEveryDestination = 0xFFFF;  // destination under a sender parent

using SessionId = std::array<uint8_t, 16>;
using EpochId = std::array<uint8_t, 32>;

enum class Role : uint8_t { kInitiator = 0, kResponder = 1 };

// `fields` is what a ByteWriter made. `size` is 48 for parents, 32 for keys.
absl::StatusOr<SecretBytes> Expand(const SecretBytes& parent, std::string_view label,
                                   absl::Span<const uint8_t> fields, size_t size);

// `psk` may be empty. `exported` is TLS-Exporter("caravan/1 session", th(0), 48).
absl::StatusOr<SecretBytes> SessionSecret(const SecretBytes& psk, const SecretBytes& exported);

// HMAC-SHA-384(Expand(session_secret, "accept", role, round, 48), transcript hash).
absl::StatusOr<Sha384Digest> AcceptMac(const SecretBytes& session_secret, Role role, uint32_t round,
                                       const Sha384Digest& transcript);

absl::StatusOr<SecretBytes> WrapKey(const SecretBytes& session_secret, const EpochId& epoch,
                                    uint16_t recipient);
// The MAC by which `source` confirms the epoch to `destination`.
absl::StatusOr<Sha384Digest> ConfirmMac(const SecretBytes& epoch_secret, const EpochId& epoch,
                                        uint16_t source, uint16_t destination);
absl::StatusOr<SecretBytes> SenderParent(const SecretBytes& epoch_secret, const EpochId& epoch,
                                         uint16_t source);
absl::StatusOr<SecretBytes> PairParent(const SecretBytes& session_secret,
                                       const SecretBytes& epoch_secret, const EpochId& epoch,
                                       const SessionId& session, uint16_t source,
                                       uint16_t destination);

// What one op key is for. `superchunk` is the 64 MiB stretch of the vector.
struct OpKeyId {
  Suite suite = Suite::kAes256Gcm;
  uint8_t op = 0;
  uint16_t source = 0;
  uint16_t destination = 0;  // kEveryDestination under a sender parent
  uint64_t sequence = 0;
  uint16_t phase = 0;
  uint32_t superchunk = 0;

  friend bool operator==(const OpKeyId&, const OpKeyId&) = default;
};
absl::StatusOr<SecretBytes> OpKey(const SecretBytes& parent, const EpochId& epoch,
                                  const OpKeyId& id);

// A data connection's preamble as both ends see it. `direction`: 0 from the dialler.
struct ConnectionId {
  SessionId session{};
  EpochId epoch{};
  uint16_t lane = 0;
  std::array<uint8_t, 32> dialler_nonce{};
  std::array<uint8_t, 32> acceptor_nonce{};
};
absl::StatusOr<SecretBytes> ConnectionKey(const SecretBytes& session_secret, const ConnectionId& id,
                                          uint8_t direction);

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_KEY_TREE_H_
