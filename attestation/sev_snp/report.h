// SPDX-License-Identifier: Apache-2.0
//
// The SEV-SNP ATTESTATION_REPORT, versions 2 to 5, 1184 bytes (AMD 56860 "SNP Firmware ABI",
// ATTESTATION_REPORT). Parsing refuses only what cannot be read: unknown bits are for the verifier
// to warn about, and the signature is checked over the raw bytes, never over these fields.
#ifndef CARAVAN_ATTESTATION_SEV_SNP_REPORT_H_
#define CARAVAN_ATTESTATION_SEV_SNP_REPORT_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/sev_snp/tcb.h"

namespace caravan::attestation::sev_snp {

inline constexpr size_t kReportSize = 0x4A0;
inline constexpr size_t kSignedSize = 0x2A0;      // what the signature covers
inline constexpr size_t kSignatureEnd = 0x330;    // the rest is neither signed nor used
inline constexpr size_t kSignaturePartSize = 72;  // of r and of s, little endian
inline constexpr uint32_t kHostRequestedVmpl = 0xFFFFFFFF;
inline constexpr uint32_t kEcdsaP384Sha384 = 1;
inline constexpr uint32_t kNewestKnownVersion = 5;

// GUEST_POLICY bits.
enum PolicyBit : int {
  kSmtAllowed = 16,
  kMustBeOne = 17,
  kMigrateMa = 18,
  kDebug = 19,
  kSingleSocket = 20,
  kCxlAllow = 21,
  kMemAes256Xts = 22,
  kRaplDis = 23,
  kCiphertextHiding = 24,
  kPageSwapDisable = 25,
};
inline constexpr uint64_t kKnownPolicyBits = 0x03FFFFFF;
inline constexpr uint64_t kKnownPlatformBits = 0xBF;  // bit 6 has no published meaning

enum class SigningKey : uint8_t { kVcek = 0, kVlek = 1, kNone = 7 };

struct FirmwareVersion {
  uint8_t major = 0;
  uint8_t minor = 0;
  uint8_t build = 0;

  friend auto operator<=>(const FirmwareVersion&, const FirmwareVersion&) = default;
  std::string ToString() const;  // "1.55.29"
};

struct Report {
  uint32_t version = 0;
  uint32_t guest_svn = 0;
  uint64_t policy = 0;
  std::array<uint8_t, 16> family_id{};
  std::array<uint8_t, 16> image_id{};
  uint32_t vmpl = 0;
  uint32_t signature_algorithm = 0;
  RawTcb current_tcb{};
  uint64_t platform_info = 0;
  bool author_key_enabled = false;
  bool mask_chip_key = false;
  uint8_t signing_key = 0;  // a SigningKey, or a value that has no meaning yet
  std::array<uint8_t, 64> report_data{};
  std::array<uint8_t, 48> measurement{};
  std::array<uint8_t, 32> host_data{};
  std::array<uint8_t, 48> id_key_digest{};
  std::array<uint8_t, 48> author_key_digest{};
  std::array<uint8_t, 32> report_id{};
  std::array<uint8_t, 32> report_id_ma{};
  RawTcb reported_tcb{};
  uint8_t cpuid_family = 0;  // version 3 and later
  uint8_t cpuid_model = 0;
  uint8_t cpuid_stepping = 0;
  std::array<uint8_t, 64> chip_id{};
  RawTcb committed_tcb{};
  FirmwareVersion current;
  FirmwareVersion committed;
  RawTcb launch_tcb{};
  uint64_t launch_mitigations = 0;  // version 5 and later
  uint64_t current_mitigations = 0;

  std::vector<std::string> unknown;  // reserved fields that are not zero, by name
  bool trailer_is_zero = false;      // the unsigned bytes after the signature

  bool Has(PolicyBit bit) const { return (policy >> bit & 1) != 0; }
  uint8_t abi_major() const { return static_cast<uint8_t>(policy >> 8); }
  uint8_t abi_minor() const { return static_cast<uint8_t>(policy); }
};

// InvalidArgument when the size is not kReportSize or the version is below 2.
absl::StatusOr<Report> ParseReport(std::string_view bytes);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_REPORT_H_
