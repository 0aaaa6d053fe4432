// SPDX-License-Identifier: Apache-2.0
#include "crypto/aead.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "crypto/aead_engines.h"

namespace caravan::crypto {
namespace {

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

absl::Status WrongSize(absl::string_view what, size_t size, size_t expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("aead: ", what, " of ", size, " bytes, expected ", expected));
}

absl::Status Check(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                   absl::Span<const uint8_t> in, absl::Span<const uint8_t> out,
                   absl::Span<const uint8_t> tag) {
  if (nonce.size() != kAeadNonceSize) return WrongSize("nonce", nonce.size(), kAeadNonceSize);
  if (tag.size() != kAeadTagSize) return WrongSize("tag", tag.size(), kAeadTagSize);
  if (out.size() != in.size()) return WrongSize("output", out.size(), in.size());
  if (in.size() > kMaxAeadInput || ad.size() > kMaxAeadInput) {
    return absl::InvalidArgumentError(absl::StrCat("aead: ", in.size(), " bytes of input and ",
                                                   ad.size(), " of associated data, at most ",
                                                   kMaxAeadInput, " each"));
  }
  const std::less<const uint8_t*> before;
  if (in.data() != out.data() && before(in.data(), out.data() + out.size()) &&
      before(out.data(), in.data() + in.size())) {
    return absl::InvalidArgumentError(
        "aead: input and output overlap in part: use the same memory or distinct memory");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view SuiteName(Suite suite) {
  switch (suite) {
    case Suite::kAes256Gcm:
      return "AES_256_GCM";
    case Suite::kChaCha20Poly1305:
      return "CHACHA20_POLY1305";
  }
  return "unknown suite";
}

std::string_view EngineName(Engine engine) {
  switch (engine) {
    case Engine::kIpsecMb:
      return "ipsec-mb";
    case Engine::kIpsecMbSse:
      return "ipsec-mb-sse";
    case Engine::kOpenSsl:
      return "openssl";
  }
  return "unknown engine";
}

Engine BestEngine(Suite suite) {
  // Without AVX-512 the library's ChaCha20 is slower than OpenSSL's; its GCM never is.
  const bool ipsec_mb =
      suite == Suite::kAes256Gcm ? IpsecMbRuns(Engine::kIpsecMb) : IpsecMbIsWide();
  return ipsec_mb ? Engine::kIpsecMb : Engine::kOpenSsl;
}

std::vector<Engine> AvailableEngines(Suite suite) {
  std::vector<Engine> engines;
  for (Engine engine : {Engine::kIpsecMb, Engine::kIpsecMbSse}) {
    if (IpsecMbRuns(engine)) engines.push_back(engine);
  }
  engines.push_back(Engine::kOpenSsl);
  return engines;
}

absl::StatusOr<std::unique_ptr<Aead>> Aead::Create(Suite suite, Engine engine,
                                                   const SecretBytes& key) {
  if (suite != Suite::kAes256Gcm && suite != Suite::kChaCha20Poly1305) {
    return absl::InvalidArgumentError(
        absl::StrCat("aead: unknown suite ", static_cast<int>(suite)));
  }
  if (key.size() != kAeadKeySize) return WrongSize("key", key.size(), kAeadKeySize);
  switch (engine) {
    case Engine::kIpsecMb:
    case Engine::kIpsecMbSse:
      if (!IpsecMbRuns(engine)) {
        return absl::UnavailableError(
            absl::StrCat("aead: engine ", Text(EngineName(engine)),
                         " needs a CPU with AES-NI and PCLMULQDQ; use openssl"));
      }
      return CreateIpsecMbAead(suite, engine, key);
    case Engine::kOpenSsl:
      return CreateOpenSslAead(suite, key);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("aead: unknown engine ", static_cast<int>(engine)));
}

absl::Status CheckedAead::Seal(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                               absl::Span<const uint8_t> plaintext, absl::Span<uint8_t> ciphertext,
                               absl::Span<uint8_t> tag) {
  if (absl::Status status = Check(nonce, ad, plaintext, ciphertext, tag); !status.ok()) {
    return status;
  }
  return DoSeal(nonce.data(), ad, plaintext.data(), ciphertext.data(), plaintext.size(),
                tag.data());
}

absl::Status CheckedAead::Open(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                               absl::Span<const uint8_t> ciphertext, absl::Span<const uint8_t> tag,
                               absl::Span<uint8_t> plaintext) {
  if (absl::Status status = Check(nonce, ad, ciphertext, plaintext, tag); !status.ok()) {
    return status;
  }
  absl::StatusOr<bool> matches =
      DoOpen(nonce.data(), ad, ciphertext.data(), plaintext.data(), ciphertext.size(), tag.data());
  if (matches.ok() && *matches) return absl::OkStatus();
  Wipe(plaintext);
  if (!matches.ok()) return matches.status();
  return absl::DataLossError(
      "aead: the tag does not match: wrong key, nonce or associated data, "
      "or changed ciphertext");
}

}  // namespace caravan::crypto
