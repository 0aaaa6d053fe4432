// SPDX-License-Identifier: Apache-2.0
//
// The report of Azure's paravisor, the host compatibility layer (HCL), NV index 0x01400001. Source:
// microsoft/openvmm, openhcl_attestation_protocol, igvm_attest::get; all integers little endian.
//
//   0x000 "HCLA", u32 version, report size, request type, status, reserved[12]
//   0x020 hardware report[1184]: an SEV-SNP report, or a TD report in the first 1024 bytes
//   0x4c0 u32 data size, version, report type, hash type, claims size, then the runtime claims
#ifndef CARAVAN_ATTESTATION_TPM_HCL_REPORT_H_
#define CARAVAN_ATTESTATION_TPM_HCL_REPORT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/openssl.h"

namespace caravan::attestation::tpm {

inline constexpr size_t kHclHeader = 0x20;
inline constexpr size_t kHardwareReport = 1184;
inline constexpr size_t kTdReport = 1024;
inline constexpr size_t kMaxClaims = 8192;

enum class HardwareType { kSnp = 2, kTdx = 4 };

// Views into the bytes that were parsed.
struct HclReport {
  HardwareType type = HardwareType::kSnp;
  std::string_view hardware_report;  // kHardwareReport bytes, or kTdReport
  std::string_view report_data;      // its 64 bytes
  std::string_view claims;           // JSON, as it is hashed
  std::string_view trailing;         // what follows: neither hashed nor used
};

// InvalidArgument, naming field, value and what was expected: another signature, version, request,
// report or hash type, and sizes that disagree or point past the end.
absl::StatusOr<HclReport> ParseHclReport(std::string_view bytes);

struct RuntimeClaims {
  std::string ak_modulus;   // big endian, of HCLAkPub
  std::string ak_exponent;  // big endian
  std::optional<bool> secure_boot;
  std::string vm_id;  // "" when there is none
};

// InvalidArgument on malformed JSON, none or several HCLAkPub, an AK that is no 2048-bit RSA
// signing key with exponent 65537.
absl::StatusOr<RuntimeClaims> ParseRuntimeClaims(std::string_view json);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_HCL_REPORT_H_
