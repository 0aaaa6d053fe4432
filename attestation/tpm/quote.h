// SPDX-License-Identifier: Apache-2.0
//
// What a TPM 2.0 signs and how it names its keys, big endian. Source: TCG "TPM 2.0 Library", part
// 2: TPMS_ATTEST (10.12.8), TPMT_SIGNATURE (11.3.4), TPMT_PUBLIC (12.2.4), TPMA_OBJECT (8.3); part
// 1, names and qualified names (16).
#ifndef CARAVAN_ATTESTATION_TPM_QUOTE_H_
#define CARAVAN_ATTESTATION_TPM_QUOTE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attestation/openssl.h"
#include "attestation/tpm/evidence.h"

namespace caravan::attestation::tpm {

inline constexpr uint16_t kTpmSha256 = 0x000B;

struct PcrSelection {
  uint16_t hash = 0;          // TPM_ALG_ID of the bank
  std::vector<bool> indices;  // a multiple of 8
};

// A TPMS_ATTEST of type quote. Views into the bytes that were parsed.
struct Quote {
  std::string_view qualified_signer;  // hash algorithm[2] and digest
  std::string_view extra_data;        // the nonce
  uint32_t reset_count = 0;
  uint32_t restart_count = 0;
  uint64_t firmware_version = 0;
  std::vector<PcrSelection> selections;
  std::string_view pcr_digest;
};

// InvalidArgument, naming field, value and what was expected: another magic number (what a TPM
// signs for its caller never begins with it) or type, sizes out of bounds, trailing bytes.
absl::StatusOr<Quote> ParseQuote(std::string_view bytes);

// The indices that the quote selects: of one bank, SHA-256, at least one, each below kPcrs.
// InvalidArgument otherwise: a digest over no register, or over another bank, says nothing.
absl::StatusOr<std::vector<uint8_t>> SelectedPcrs(const Quote& quote);

// The RSA signature in a TPMT_SIGNATURE of RSASSA with SHA-256, or `bytes` itself when it has the
// size of one. InvalidArgument for anything else.
absl::StatusOr<std::string_view> RsaSignatureOf(std::string_view bytes);

// TPMA_OBJECT: a key that was made in this TPM, stays there, and signs what the TPM says alone.
inline constexpr uint32_t kFixedTpm = 1 << 1, kFixedParent = 1 << 4, kSensitiveDataOrigin = 1 << 5,
                          kRestricted = 1 << 16, kDecrypt = 1 << 17, kSign = 1 << 18;

// An RSA key's public area, with SHA-256 names. Views into the bytes that were parsed.
struct PublicArea {
  uint32_t attributes = 0;
  std::string_view modulus;
  uint32_t exponent = 0;  // 65537 where the TPM writes 0
};
absl::StatusOr<PublicArea> ParsePublicArea(std::string_view bytes);

// The qualified name of the primary key with this public area, in each hierarchy: owner,
// endorsement, platform, null.
std::vector<std::string> QualifiedNames(std::string_view public_area);

// Null when OpenSSL takes no such key.
EvpPkeyPtr MakeRsaPublicKey(std::string_view modulus, std::string_view exponent);

// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017). Unauthenticated when it does not verify.
absl::Status CheckRsaSignature(EVP_PKEY* key, std::string_view signature, std::string_view message);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_QUOTE_H_
