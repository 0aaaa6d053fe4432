// SPDX-License-Identifier: Apache-2.0
//
// Makes OCSP responses, right or wrong as the caller says.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_OCSP_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_OCSP_H_

#include <openssl/evp.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/insecure_software/forge.h"

namespace caravan::attestation::insecure_software {

enum class OcspStatus { kGood, kRevoked, kUnknown };

inline constexpr int kNoReason = -1;
inline constexpr int kKeyCompromise = 1, kCertificateHold = 6;  // RFC 5280 5.3.1

struct OcspSpec {
  std::string certificate, issuer;  // DER: about whom
  OcspStatus status = OcspStatus::kGood;
  int reason = kNoReason;
  absl::Time this_update, produced_at;
  std::optional<absl::Time> next_update;
  std::string signer;        // DER
  EVP_PKEY* key = nullptr;   // of the signer, borrowed
  bool with_signer = false;  // the response holds the signer's certificate
  std::optional<std::string> nonce = std::nullopt;
  const EVP_MD* id_hash = EVP_sha384();  // of certID
  const EVP_MD* digest = EVP_sha384();   // of the signature
};
absl::StatusOr<std::string> MakeOcspResponse(const OcspSpec& spec);  // DER

// A response without an answer: "tryLater" is 3 (RFC 6960 4.2.1).
absl::StatusOr<std::string> MakeOcspError(int status);

// Extensions for CertificateSpec: what a responder's certificate needs.
ExtensionList OcspSigningExtensions();

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_OCSP_H_
