// SPDX-License-Identifier: Apache-2.0
//
// Makes PCK extensions, quotes and signed collateral in Intel's formats, right or wrong as the
// caller says. Sources as in attestation/intel.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_INTEL_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_INTEL_H_

#include <openssl/evp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/quote.h"
#include "attestation/openssl.h"

namespace caravan::attestation::insecure_software {

// Internal when OpenSSL fails, as all functions here.
absl::StatusOr<EvpPkeyPtr> MakeP256Key();

struct PckSpec {
  std::string ppid = std::string(16, '\x50');
  intel::Svns sgx_svns{};
  uint16_t pce_svn = 0;
  std::string pce_id = std::string(2, '\0');
  std::string fmspc = std::string(6, '\x06');
  uint8_t sgx_type = 1;
  std::optional<std::string> platform_instance_id = std::string(16, '\x51');
};
// The value of the extension kOidSgxExtensions.
std::string PckExtension(const PckSpec& spec);

struct QuoteSpec {
  uint16_t version = 4;
  uint16_t key_type = intel::kEcdsaP256;
  uint32_t tee_type = intel::kTeeTdx;
  std::string vendor_id;  // 16 bytes; empty: Intel's
  intel::BodyType body_type = intel::BodyType::kTd10;
  std::string body;
  std::string qe_report;  // its report data is filled in
  std::string qe_auth_data = "authentication data";
  EVP_PKEY* attestation_key = nullptr;  // borrowed
  EVP_PKEY* pck_key = nullptr;          // borrowed
  uint16_t certification_type = intel::kPckCertChain;
  std::string certification_data;
  bool bind_attestation_key = true;  // into the QE's report data
};
absl::StatusOr<std::string> MakeQuote(const QuoteSpec& spec);

// {"<name>":<body>,"signature":"…"}, signed over the body.
absl::StatusOr<std::string> SignDocument(const std::string& name, const std::string& body,
                                         EVP_PKEY* key);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_INTEL_H_
