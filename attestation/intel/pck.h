// SPDX-License-Identifier: Apache-2.0
//
// PCK certificates: which platform and TCB the key that signs quoting enclaves belongs to. Source:
// Intel "SGX PCK Certificate and Certificate Revocation List Profile Specification", 1.3.5.
#ifndef CARAVAN_ATTESTATION_INTEL_PCK_H_
#define CARAVAN_ATTESTATION_INTEL_PCK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attestation/x509.h"

namespace caravan::attestation::intel {

inline constexpr char kOidSgxExtensions[] = "1.2.840.113741.1.13.1";

using Svns = std::array<uint8_t, 16>;

enum class SgxType { kStandard = 0, kScalable = 1, kScalableWithIntegrity = 2 };

struct Pck {
  Certificate certificate;
  std::string ppid = {};  // 16 bytes
  Svns sgx_svns = {};     // TCB components 1 to 16
  uint16_t pce_svn = 0;
  std::string cpu_svn = {};  // 16 bytes
  std::string pce_id = {};   // 2 bytes
  std::string fmspc = {};    // 6 bytes
  SgxType sgx_type = SgxType::kStandard;
  // Only certificates of the platform CA have these.
  std::optional<std::string> platform_instance_id = std::nullopt;  // 16 bytes
  std::optional<bool> dynamic_platform = std::nullopt;
  std::optional<bool> cached_keys = std::nullopt;
  std::optional<bool> smt_enabled = std::nullopt;
};

// True when the certificate has the extension that makes it a PCK's.
bool LooksLikePck(const Certificate& certificate);
// InvalidArgument naming the part that is missing, twice there, or malformed.
absl::StatusOr<Pck> ParsePck(const Certificate& certificate);

std::string_view Name(SgxType type);  // "standard", …

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_PCK_H_
