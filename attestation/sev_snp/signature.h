// SPDX-License-Identifier: Apache-2.0
//
// The report's signature: ECDSA P-384 over SHA-384 of the raw first 0x2A0 bytes, r and s little
// endian in 72 bytes each (AMD 56860, "Signature Format").
#ifndef CARAVAN_ATTESTATION_SEV_SNP_SIGNATURE_H_
#define CARAVAN_ATTESTATION_SEV_SNP_SIGNATURE_H_

#include <openssl/evp.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace caravan::attestation::sev_snp {

// `report` has kReportSize bytes. Unauthenticated naming what is wrong: the key's curve, an r or s
// outside 1 to n - 1 or with bytes above P-384's, or the signature itself.
absl::Status CheckReportSignature(std::string_view report, EVP_PKEY* key);

// Writes the signature of report[0, 0x2A0) into `report`, of kReportSize bytes. Internal when
// OpenSSL fails; InvalidArgument on another size.
absl::Status SignReport(EVP_PKEY* key, std::string* report);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_SIGNATURE_H_
