// SPDX-License-Identifier: Apache-2.0
//
// What the engines behind Aead share. Private to crypto/.
#ifndef CARAVAN_CRYPTO_AEAD_ENGINES_H_
#define CARAVAN_CRYPTO_AEAD_ENGINES_H_

#include <memory>

#include "crypto/aead.h"

namespace caravan::crypto {

// Checks the arguments of both calls once, so that an engine sees valid ones only.
class CheckedAead : public Aead {
 public:
  absl::Status Seal(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                    absl::Span<const uint8_t> plaintext, absl::Span<uint8_t> ciphertext,
                    absl::Span<uint8_t> tag) final;
  absl::Status Open(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                    absl::Span<const uint8_t> ciphertext, absl::Span<const uint8_t> tag,
                    absl::Span<uint8_t> plaintext) final;

 protected:
  // `size` bytes from `in` to `out`, then the tag of kAeadTagSize bytes.
  virtual absl::Status DoSeal(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                              uint8_t* out, size_t size, uint8_t* tag) = 0;
  // True when the tag matches. `out` may hold anything when it does not.
  virtual absl::StatusOr<bool> DoOpen(const uint8_t* nonce, absl::Span<const uint8_t> ad,
                                      const uint8_t* in, uint8_t* out, size_t size,
                                      const uint8_t* tag) = 0;
};

// `key` is kAeadKeySize bytes.
absl::StatusOr<std::unique_ptr<Aead>> CreateIpsecMbAead(Suite suite, Engine engine,
                                                        const SecretBytes& key);
absl::StatusOr<std::unique_ptr<Aead>> CreateOpenSslAead(Suite suite, const SecretBytes& key);

// True when this CPU runs the library's AES-NI code and the library passed its self-test.
bool IpsecMbRuns(Engine engine);
// True when the library's AVX-512 code with VAES runs here.
bool IpsecMbIsWide();

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_AEAD_ENGINES_H_
