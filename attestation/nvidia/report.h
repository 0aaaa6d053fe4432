// SPDX-License-Identifier: Apache-2.0
//
// A device's measurement report: SPDM 1.1 GET_MEASUREMENTS and the MEASUREMENTS that answered it,
// one behind the other (DMTF DSP0274 1.1, tables 46 to 53). The signature covers both, without
// itself. Views into the input; nothing is re-serialised.
#ifndef CARAVAN_ATTESTATION_NVIDIA_REPORT_H_
#define CARAVAN_ATTESTATION_NVIDIA_REPORT_H_

#include <openssl/evp.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::attestation::nvidia {

inline constexpr size_t kRequestSize = 37;  // version, code, two parameters, nonce, slot
inline constexpr size_t kNonceSize = 32;
inline constexpr size_t kDigestSize = 48;     // SHA-384, of a measurement and of firmware
inline constexpr size_t kSignatureSize = 96;  // r ‖ s of ECDSA P-384, big endian
inline constexpr size_t kMaxReportSize = 65536;
inline constexpr size_t kMaxOpaqueFields = 256;

// The digest of one part of firmware or state.
struct Measurement {
  uint8_t index = 0;        // as SPDM counts: from 1
  uint8_t type = 0;         // DMTFSpecMeasurementValueType: what was measured
  std::string_view digest;  // kDigestSize bytes
};

// What a vendor adds: type, length, value. What a type means depends on the class of the device.
struct OpaqueField {
  uint16_t type = 0;
  std::string_view value;
};

struct Report {
  std::string_view nonce;                 // the requester's; kNonceSize bytes
  uint8_t slot = 0;                       // of the certificate chain, in request and response
  std::vector<Measurement> measurements;  // in the order of the report, no index twice
  std::string_view responder_nonce;
  std::vector<OpaqueField> opaque;
  std::string_view signed_bytes;
  std::string_view signature;
  std::string_view trailing;         // behind the signature, which does not cover it
  std::vector<std::string> unknown;  // reserved fields that are not zero, by name
};

// InvalidArgument naming the field when a length leaves its bounds, the parts do not use up what
// they say, an index stands twice, a measurement is no SHA-384 digest, the response is for another
// slot than the request, or the messages are not SPDM 1.1. Later versions sign a prefix and the
// negotiation before, which no such report carries: they are refused by name.
absl::StatusOr<Report> ParseReport(std::string_view bytes);

// Unauthenticated naming what is wrong: the key's curve, r or s, or the signature itself.
absl::Status CheckReportSignature(const Report& report, EVP_PKEY* key);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_REPORT_H_
