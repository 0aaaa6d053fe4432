// SPDX-License-Identifier: Apache-2.0
//
// Evidence of a vTPM in an Azure confidential VM, as one container: what kVtpm evidence carries in
// its report. A cached hardware report vouches for the vTPM's attestation key (AK); a quote by that
// key is the part that is fresh.
//
//   "caravan vtpm 1\0\0"[16]  then, each with a u32 length:
//   HCL report, TD quote (empty on SEV-SNP), TPMS_ATTEST, signature, TPMT_PUBLIC of the AK (may be
//   empty), then u8 count and, by rising index, {u8 index, value[32]} for each quoted PCR
#ifndef CARAVAN_ATTESTATION_TPM_EVIDENCE_H_
#define CARAVAN_ATTESTATION_TPM_EVIDENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {

inline constexpr std::string_view kContainerMagic("caravan vtpm 1\0\0", 16);
// Largest parts, in bytes.
inline constexpr size_t kMaxHclReport = 16384;
inline constexpr size_t kMaxTdQuote = 128 << 10;
inline constexpr size_t kMaxTpmStructure = 4096;  // a quote, a signature, a public area
inline constexpr uint8_t kPcrs = 24;              // of a PC client TPM: 0 to 23

using PcrValues = std::map<uint8_t, crypto::Sha256Digest>;  // by index, of the SHA-256 bank

struct VtpmEvidence {
  std::string hcl_report;      // as NV index 0x01400001 holds it
  std::string td_quote;        // on TDX, of the TD report in the HCL report
  std::string quote;           // TPMS_ATTEST
  std::string signature;       // TPMT_SIGNATURE, or its bare RSA signature
  std::string ak_public = {};  // TPMT_PUBLIC, where the attester sends it
  PcrValues pcrs;
};

std::string Encode(const VtpmEvidence& evidence);

// InvalidArgument, naming the field and the limit, on anything malformed, oversized or trailing.
absl::StatusOr<VtpmEvidence> DecodeVtpmEvidence(std::string_view bytes);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_EVIDENCE_H_
