// SPDX-License-Identifier: Apache-2.0
//
// Makes certificates, revocation lists and reports in AMD's formats, right or wrong as the caller
// says: the stand-in makes right ones, the verifier's tests wrong ones.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_H_

#include <openssl/evp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/sev_snp/report.h"
#include "attestation/sev_snp/tcb.h"
#include "attestation/x509.h"

namespace caravan::attestation::insecure_software {

// Internal when OpenSSL fails, as all functions here.
absl::StatusOr<EvpPkeyPtr> MakeP384Key();

using ExtensionList = std::vector<std::pair<std::string, std::string>>;  // OID, value

struct CertificateSpec {
  std::string common_name;
  std::string issuer_name;          // common name of the issuer
  EVP_PKEY* subject_key = nullptr;  // borrowed
  EVP_PKEY* issuer_key = nullptr;   // borrowed
  uint64_t serial = 1;
  absl::Time not_before;
  absl::Time not_after;
  bool is_ca = false;  // adds basicConstraints and keyUsage
  std::optional<int> path_length = std::nullopt;
  ExtensionList extensions = {};
  std::optional<std::string> critical_oid = std::nullopt;  // an extension nobody knows
  const EVP_MD* digest = EVP_sha384();
  std::string subject_serial = {};  // serialNumber in the subject's name, none when empty
  std::string issuer_serial = {};   // the same in the issuer's
};
absl::StatusOr<std::string> MakeCertificate(const CertificateSpec& spec);  // DER

struct CrlSpec {
  std::string issuer_name;
  EVP_PKEY* issuer_key = nullptr;  // borrowed
  absl::Time this_update;
  std::optional<absl::Time> next_update;
  std::vector<uint64_t> revoked = {};  // serial numbers
  const EVP_MD* digest = EVP_sha384();
};
absl::StatusOr<std::string> MakeCrl(const CrlSpec& spec);  // DER

// What AMD puts into a VCEK (with `hwid`) or a VLEK (with `csp_id`); neither is added when empty.
struct LeafSpec {
  std::string product_name;  // "Milan-B0"
  sev_snp::Product product = v1::MILAN;
  sev_snp::Tcb tcb;
  std::string hwid = {};
  std::string csp_id = {};
  bool wrap_hwid = false;  // as a DER OCTET STRING, as some services do
};
ExtensionList LeafExtensions(const LeafSpec& spec);

// kReportSize bytes, not signed. `unknown` and `trailer_is_zero` are not read.
std::string SerializeReport(const sev_snp::Report& report);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_H_
