// SPDX-License-Identifier: Apache-2.0
//
// ECDSA quotes of versions 3, 4 and 5. Sources: Intel "SGX ECDSA Quote Library API" and "TDX DCAP
// Quote Library API", appendix A, quote formats.
#ifndef CARAVAN_ATTESTATION_INTEL_QUOTE_H_
#define CARAVAN_ATTESTATION_INTEL_QUOTE_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace caravan::attestation::intel {

inline constexpr uint32_t kTeeSgx = 0;
inline constexpr uint32_t kTeeTdx = 0x81;
inline constexpr uint16_t kEcdsaP256 = 2;     // attestation key type
inline constexpr uint16_t kPckCertChain = 5;  // certification data: PCK leaf, intermediate, root
inline constexpr uint16_t kQeReportCertification = 6;
inline constexpr size_t kQuoteHeaderSize = 48;
inline constexpr size_t kSgxReportSize = 384;
inline constexpr size_t kMaxCertificationData = 64 << 10;

// The numbers are version 5's body types; of earlier versions the header tells.
enum class BodyType : uint16_t { kSgx = 1, kTd10 = 2, kTd15 = 3, kTd15Extended = 4 };

// Views into the bytes that were parsed; all of them lie inside.
struct Quote {
  uint16_t version = 0;
  uint16_t key_type = 0;
  uint32_t tee_type = 0;
  uint16_t qe_svn = 0;            // versions 3 alone
  uint16_t pce_svn = 0;           // versions 3 alone
  std::string_view qe_vendor_id;  // 16 bytes
  std::string_view user_data;     // 20 bytes
  BodyType body_type = BodyType::kSgx;
  std::string_view body;

  std::string_view signed_bytes;         // header, body type and size, body
  std::string_view signature;            // r ‖ s over them, by the attestation key
  std::string_view attestation_key;      // x ‖ y
  std::string_view qe_report;            // an SGX report
  std::string_view qe_report_signature;  // r ‖ s over it, by the PCK
  std::string_view qe_auth_data;
  uint16_t certification_type = 0;
  std::string_view certification_data;

  std::string_view trailing;  // what follows the quote: neither signed nor used
};

// InvalidArgument, naming field, value and what was expected: an unknown version, key type, TEE or
// body type, lengths that disagree or point past the end. Bytes after the quote are no error.
absl::StatusOr<Quote> ParseQuote(std::string_view bytes);

// Intel's quoting enclaves: 939a7233f79c4ca9940a0db3957f0607.
bool IsIntelVendor(std::string_view qe_vendor_id);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_QUOTE_H_
