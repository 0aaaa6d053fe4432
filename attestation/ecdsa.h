// SPDX-License-Identifier: Apache-2.0
//
// ECDSA as reports and quotes carry it: r and s as plain numbers, not DER (FIPS 186-5).
#ifndef CARAVAN_ATTESTATION_ECDSA_H_
#define CARAVAN_ATTESTATION_ECDSA_H_

#include <openssl/evp.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attestation/openssl.h"

namespace caravan::attestation {

// With the hash that reports use beside it.
enum class Curve {
  kP256,  // SHA-256
  kP384,  // SHA-384
};

size_t ScalarSize(Curve curve);  // bytes: 32 or 48

// False for null.
bool IsOnCurve(EVP_PKEY* key, Curve curve);

// `signature` is r ‖ s, big endian, ScalarSize(curve) bytes each. Unauthenticated naming what is
// wrong: the key's curve, an r or s outside 1 to n - 1, or the signature itself.
absl::Status CheckEcdsa(Curve curve, EVP_PKEY* key, std::string_view signature,
                        std::string_view message);

// r ‖ s as above. InvalidArgument for a key of another curve, Internal when OpenSSL fails.
absl::StatusOr<std::string> SignEcdsa(Curve curve, EVP_PKEY* key, std::string_view message);

// The key of a point x ‖ y of P-256, 32 bytes each, big endian. InvalidArgument when the bytes are
// no such point.
absl::StatusOr<EvpPkeyPtr> MakeP256PublicKey(std::string_view point);

// The point of a key on P-256 as x ‖ y. InvalidArgument for another key.
absl::StatusOr<std::string> P256Point(EVP_PKEY* key);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_ECDSA_H_
