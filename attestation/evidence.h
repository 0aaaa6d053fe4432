// SPDX-License-Identifier: Apache-2.0
//
// What an attester says (RFC 9334: Evidence) and what helps to check it (Endorsements).
#ifndef CARAVAN_ATTESTATION_EVIDENCE_H_
#define CARAVAN_ATTESTATION_EVIDENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace caravan::attestation {

class KnownSignatures;

// Wire values. An insecure_software report has the format of kSevSnp; its chain tells it apart.
enum class EvidenceKind : uint16_t { kSevSnp = 1, kTdx = 2, kSgx = 3, kNvidia = 4, kVtpm = 5 };

std::string_view Name(EvidenceKind kind);  // "sev-snp", "tdx", …

inline constexpr size_t kMaxEvidenceSize = 1 << 20;  // bytes, encoded, a set in all
inline constexpr size_t kMaxCertificates = 16;
inline constexpr size_t kMaxCertificateSize = 16384;  // bytes of DER

struct Evidence {
  EvidenceKind kind = EvidenceKind::kSevSnp;
  std::string report;                     // raw bytes as the TEE made them
  std::vector<std::string> certificates;  // DER, leaf first, as the attester sent them
};

// One attester's set: the CPU's evidence first.
struct EvidenceSet {
  std::vector<Evidence> items;
};

std::string Encode(const EvidenceSet& set);
// InvalidArgument, naming the field and the limit, on anything malformed, oversized or trailing.
absl::StatusOr<EvidenceSet> DecodeEvidenceSet(absl::Span<const uint8_t> bytes);

// What the verifier brings along.
struct Endorsements {
  std::vector<std::string> certificates;  // DER
  std::vector<std::string> crls;          // DER
  // Signed JSON as Intel's service returns it, byte for byte: {"tcbInfo":{…},"signature":"…"}.
  std::vector<std::string> documents = {};
  std::vector<std::string> rims = {};            // NVIDIA's signed XML, byte for byte
  std::vector<std::string> ocsp_responses = {};  // DER
  // Signatures of these and of the certificates that come with evidence: what was valid before
  // needs no second check (known_signatures.h). Null: every one is checked each time.
  std::shared_ptr<KnownSignatures> known_signatures = nullptr;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_EVIDENCE_H_
