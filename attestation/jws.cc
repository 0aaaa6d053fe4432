// SPDX-License-Identifier: Apache-2.0
#include "attestation/jws.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>

#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

constexpr size_t kEd25519Size = 32;
constexpr size_t kEd25519SignatureSize = 64;

using BioPtr = std::unique_ptr<BIO, OpensslDelete<BIO_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, OpensslDelete<BN_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>>;

// Refuses: without it OpenSSL would ask the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

std::string Base64Url(std::string_view bytes) {
  return absl::WebSafeBase64Escape({bytes.data(), bytes.size()});
}

// A coordinate of an EC key's point, big endian, `size` bytes.
std::optional<std::string> Coordinate(EVP_PKEY* key, const char* name, size_t size) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &raw) != 1) return std::nullopt;
  const BignumPtr number(raw);
  std::string bytes(size, '\0');
  const int written = BN_bn2binpad(number.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                   static_cast<int>(size));
  if (written < 0) return std::nullopt;
  return bytes;
}

absl::StatusOr<std::string> EcJwk(EVP_PKEY* key, Curve curve, const char* name) {
  const size_t size = ScalarSize(curve);
  const std::optional<std::string> x = Coordinate(key, OSSL_PKEY_PARAM_EC_PUB_X, size);
  const std::optional<std::string> y = Coordinate(key, OSSL_PKEY_PARAM_EC_PUB_Y, size);
  if (!x.has_value() || !y.has_value()) {
    return absl::InvalidArgumentError("signing key: its public point cannot be read");
  }
  return absl::StrCat("{\"crv\":\"", name, "\",\"kty\":\"EC\",\"x\":\"", Base64Url(*x),
                      "\",\"y\":\"", Base64Url(*y), "\"}");
}

absl::StatusOr<std::string> Ed25519Jwk(EVP_PKEY* key) {
  std::string x(kEd25519Size, '\0');
  size_t size = x.size();
  if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(x.data()), &size) != 1) {
    return absl::InvalidArgumentError("signing key: its public key cannot be read");
  }
  return absl::StrCat("{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"", Base64Url(x), "\"}");
}

absl::StatusOr<std::string> SignEd25519(EVP_PKEY* key, const std::string& message) {
  const DigestContext context(EVP_MD_CTX_new());
  std::string signature(kEd25519SignatureSize, '\0');
  size_t size = signature.size();
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1) {
    return absl::InternalError("ed25519 signing failed");
  }
  return signature;
}

}  // namespace

absl::StatusOr<JwsKey> JwsKey::FromPem(absl::Span<const uint8_t> pem) {
  const ClearErrors clear;
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  EvpPkeyPtr key(
      bio == nullptr ? nullptr : PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        "signing key: no private key in pem, or one that is encrypted");
  }
  absl::StatusOr<std::string> jwk = absl::InvalidArgumentError(
      "signing key: expected a key on P-384 or P-256, or an Ed25519 key");
  const char* algorithm = "";
  if (IsOnCurve(key.get(), Curve::kP384)) {
    algorithm = "ES384";
    jwk = EcJwk(key.get(), Curve::kP384, "P-384");
  } else if (IsOnCurve(key.get(), Curve::kP256)) {
    algorithm = "ES256";
    jwk = EcJwk(key.get(), Curve::kP256, "P-256");
  } else if (EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519) {
    algorithm = "EdDSA";
    jwk = Ed25519Jwk(key.get());
  }
  if (!jwk.ok()) return jwk.status();
  return JwsKey(std::move(key), algorithm, *std::move(jwk));
}

std::string JwsKey::Thumbprint() const {
  const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(jwk_));
  return Base64Url(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

absl::StatusOr<std::string> JwsKey::Sign(std::string_view payload) const {
  const ClearErrors clear;
  const std::string header =
      absl::StrCat("{\"alg\":\"", algorithm_, "\",\"kid\":\"", Thumbprint(), "\",\"typ\":\"JWT\"}");
  const std::string input = absl::StrCat(Base64Url(header), ".", Base64Url(payload));
  absl::StatusOr<std::string> signature =
      algorithm_ == "EdDSA"
          ? SignEd25519(key_.get(), input)
          : SignEcdsa(algorithm_ == "ES384" ? Curve::kP384 : Curve::kP256, key_.get(), input);
  if (!signature.ok()) return signature.status();
  return absl::StrCat(input, ".", Base64Url(*signature));
}

}  // namespace caravan::attestation
