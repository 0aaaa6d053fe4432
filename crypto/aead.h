// SPDX-License-Identifier: Apache-2.0
//
// AEAD suites and the engines that compute them.
//
// How to use it safely
//   - One Aead holds one key. Never seal twice under the same nonce: go through
//     crypto/record.h, which spends each nonce in a ledger first.
//   - The plaintext of Seal() must not change while the call runs, unless ReadsPlaintextOnce()
//     says so for the engine: an engine that reads twice can be raced into a valid forgery.
//   - Never seal in place in memory that somebody else can write: ChaCha20-Poly1305 reads its
//     ciphertext back for the tag, whatever the engine, and vouches for what it finds there.
//   - Never open from such memory unless ReadsCiphertextOnce(): the tag then vouches for other
//     bytes than those that were decrypted.
//   - Open() writes unauthenticated plaintext before it compares the tag. Give it scratch memory
//     that nobody else can read and use it only when the status is OK.
#ifndef CARAVAN_CRYPTO_AEAD_H_
#define CARAVAN_CRYPTO_AEAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/secret_bytes.h"

namespace caravan::crypto {

// Wire values (docs/protocol.md). AES-256-GCM: NIST SP 800-38D; ChaCha20-Poly1305: RFC 8439.
enum class Suite : uint8_t { kAes256Gcm = 1, kChaCha20Poly1305 = 2 };

// Who computes. All engines give the same bytes for the same input.
enum class Engine : uint8_t {
  kIpsecMb,     // Intel's multi-buffer library at the widest instruction set of this CPU
  kIpsecMbSse,  // the same library with AVX-512, AVX2 and VAES dispatched away
  kOpenSsl,     // OpenSSL EVP: the reference, and the fallback on CPUs without AES-NI
};

inline constexpr size_t kAeadKeySize = 32;
inline constexpr size_t kAeadNonceSize = 12;
inline constexpr size_t kAeadTagSize = 16;
inline constexpr size_t kMaxAeadInput = size_t{1} << 30;  // one call's input, and its AD

std::string_view SuiteName(Suite suite);     // "AES_256_GCM", "CHACHA20_POLY1305"
std::string_view EngineName(Engine engine);  // "ipsec-mb", "ipsec-mb-sse", "openssl"

// The fastest engine that this CPU can run, and all that it can run.
Engine BestEngine(Suite suite);
std::vector<Engine> AvailableEngines(Suite suite);

// Thread-compatible: Seal and Open of one object may run on one thread at a time.
class Aead {
 public:
  virtual ~Aead() = default;

  // `key` is 32 bytes; InvalidArgument otherwise. Unavailable when the engine cannot run here.
  // ResourceExhausted when locked memory for the key schedule is not to be had.
  static absl::StatusOr<std::unique_ptr<Aead>> Create(Suite suite, Engine engine,
                                                      const SecretBytes& key);

  // Encrypts `plaintext` into `ciphertext` (same size; may be the same memory, may not overlap
  // otherwise) and writes `tag`. `nonce` 12 bytes, `tag` 16 bytes. InvalidArgument on a wrong
  // size or a partial overlap: nothing is written then.
  virtual absl::Status Seal(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                            absl::Span<const uint8_t> plaintext, absl::Span<uint8_t> ciphertext,
                            absl::Span<uint8_t> tag) = 0;

  // Decrypts into `plaintext` (same size as `ciphertext`). DataLoss when the tag does not match:
  // `plaintext` then holds zeros.
  virtual absl::Status Open(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                            absl::Span<const uint8_t> ciphertext, absl::Span<const uint8_t> tag,
                            absl::Span<uint8_t> plaintext) = 0;

  // True when Seal, out of place, is shown by the racing-writer test to read each plaintext byte
  // once.
  virtual bool ReadsPlaintextOnce() const = 0;

  // Whether Open reads each ciphertext byte once.
  virtual bool ReadsCiphertextOnce() const { return false; }
};

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_AEAD_H_
