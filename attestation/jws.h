// SPDX-License-Identifier: Apache-2.0
//
// JSON Web Signatures, compact (RFC 7515), by a private key: P-384 gives ES384, P-256 ES256
// (RFC 7518, 3.4), Ed25519 EdDSA (RFC 8037).
#ifndef CARAVAN_ATTESTATION_JWS_H_
#define CARAVAN_ATTESTATION_JWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attestation/openssl.h"

namespace caravan::attestation {

class JwsKey {
 public:
  // A private key in PEM. InvalidArgument: there is none, it is encrypted, or of another kind.
  static absl::StatusOr<JwsKey> FromPem(absl::Span<const uint8_t> pem);

  const std::string& algorithm() const { return algorithm_; }  // "ES384"
  // The public key as JSON with the members that its thumbprint covers, in their order (RFC 7638).
  const std::string& public_jwk() const { return jwk_; }
  // SHA-256 thumbprint, base64url: what the signature's "kid" says.
  std::string Thumbprint() const;

  // <header>.<payload>.<signature>, a JWT where the payload is JSON. Internal when OpenSSL fails.
  absl::StatusOr<std::string> Sign(std::string_view payload) const;

 private:
  JwsKey(EvpPkeyPtr key, std::string algorithm, std::string jwk)
      : key_(std::move(key)), algorithm_(std::move(algorithm)), jwk_(std::move(jwk)) {}

  EvpPkeyPtr key_;
  std::string algorithm_, jwk_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_JWS_H_
