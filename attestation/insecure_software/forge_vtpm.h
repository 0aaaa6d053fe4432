// SPDX-License-Identifier: Apache-2.0
//
// Makes the parts of a vTPM's evidence, right or wrong as the caller says. Sources as in
// attestation/tpm.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_VTPM_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_VTPM_H_

#include <openssl/evp.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/tpm/quote.h"

namespace caravan::attestation::insecure_software {

// Internal when OpenSSL fails, as all functions here that may.
absl::StatusOr<EvpPkeyPtr> MakeRsaKey();  // 2048 bits

// Runtime claims whose HCLAkPub is `ak`.
absl::StatusOr<std::string> MakeRuntimeClaims(EVP_PKEY* ak, bool secure_boot = true);

// `hardware_report` is padded to its area.
std::string MakeHclReport(tpm::HardwareType type, std::string_view hardware_report,
                          std::string_view claims);

// The TD report that a TD quote with this body (TD 1.0 or 1.5) was made of.
std::string MakeTdReport(std::string_view quote_body);

struct TpmQuoteSpec {
  uint32_t magic = 0xFF544347;
  uint16_t type = 0x8018;
  std::string qualified_signer = std::string("\0\x0B", 2) + std::string(32, 'q');
  std::string extra_data;
  std::vector<std::pair<uint16_t, std::string>> selections = {
      {tpm::kTpmSha256, std::string(3, '\xFF')}};
  std::string pcr_digest;
};
std::string MakeTpmQuote(const TpmQuoteSpec& spec);  // TPMS_ATTEST

crypto::Sha256Digest PcrDigest(const tpm::PcrValues& pcrs);

// RSASSA-PKCS1-v1_5 with SHA-256.
absl::StatusOr<std::string> SignRsa(EVP_PKEY* key, std::string_view message);
// Wraps the signature as a TPMT_SIGNATURE.
std::string WrapSignature(std::string_view signature);

// TPMT_PUBLIC.
absl::StatusOr<std::string> MakePublicArea(EVP_PKEY* key, uint32_t attributes);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_VTPM_H_
