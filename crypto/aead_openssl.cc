// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>
#include <openssl/evp.h>

#include "absl/strings/str_cat.h"
#include "crypto/aead_engines.h"

namespace caravan::crypto {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

// Looked up once: a fetch for each key costs more than sealing a small record.
const EVP_CIPHER* Cipher(Suite suite) {
  static const EVP_CIPHER* const gcm = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  static const EVP_CIPHER* const chacha = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  return suite == Suite::kAes256Gcm ? gcm : chacha;
}

absl::Status Failure(absl::string_view what) {
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("aead: openssl failed to ", what, ": ", reason));
}

// OpenSSL keeps its key schedule on its own heap, not in locked memory, and wipes it on release.
class OpenSslAead final : public CheckedAead {
 public:
  explicit OpenSslAead(Context context) : context_(std::move(context)) {}

  // No race against Seal was ever won, but the library chooses among many code paths by version
  // and CPU, and a race against Open is won easily.
  bool ReadsPlaintextOnce() const override { return false; }

 protected:
  absl::Status DoSeal(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                      uint8_t* out, size_t size, uint8_t* tag) override {
    uint8_t end[kAeadTagSize];
    int written = 0;
    if (Run(nonce, ad, in, out, size, 1) && EVP_EncryptFinal_ex(context(), end, &written) == 1 &&
        EVP_CIPHER_CTX_ctrl(context(), EVP_CTRL_AEAD_GET_TAG, kAeadTagSize, tag) == 1) {
      return absl::OkStatus();
    }
    return Failure("seal");
  }

  absl::StatusOr<bool> DoOpen(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                              uint8_t* out, size_t size, const uint8_t* tag) override {
    if (!Run(nonce, ad, in, out, size, 0) ||
        EVP_CIPHER_CTX_ctrl(context(), EVP_CTRL_AEAD_SET_TAG, kAeadTagSize,
                            const_cast<uint8_t*>(tag)) != 1) {
      return Failure("open");
    }
    uint8_t end[kAeadTagSize];
    int written = 0;
    const bool matches = EVP_DecryptFinal_ex(context(), end, &written) == 1;
    ERR_clear_error();
    return matches;
  }

 private:
  EVP_CIPHER_CTX* context() const { return context_.get(); }

  bool Run(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in, uint8_t* out,
           size_t size, int encrypt) {
    int written = 0;
    return EVP_CipherInit_ex(context(), nullptr, nullptr, nullptr, nonce, encrypt) == 1 &&
           (ad.empty() || EVP_CipherUpdate(context(), nullptr, &written, ad.data(),
                                           static_cast<int>(ad.size())) == 1) &&
           (size == 0 ||
            EVP_CipherUpdate(context(), out, &written, in, static_cast<int>(size)) == 1);
  }

  Context context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Aead>> CreateOpenSslAead(Suite suite, const SecretBytes& key) {
  const EVP_CIPHER* cipher = Cipher(suite);
  if (cipher == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("aead: openssl has no ",
                     absl::string_view(SuiteName(suite).data(), SuiteName(suite).size()),
                     "; load its default provider"));
  }
  Context context(EVP_CIPHER_CTX_new());
  if (context == nullptr ||
      EVP_CipherInit_ex(context.get(), cipher, nullptr, key.Expose().data(), nullptr, 1) != 1) {
    return Failure("set the key");
  }
  return std::make_unique<OpenSslAead>(std::move(context));
}

}  // namespace caravan::crypto
