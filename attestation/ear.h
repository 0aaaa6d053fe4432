// SPDX-License-Identifier: Apache-2.0
//
// An appraisal in the words that other relying parties read: EAT attestation results, EAR
// (draft-ietf-rats-ear-04, an EAT of RFC 9711), around a trustworthiness vector (AR4SI,
// draft-ietf-rats-ar4si). docs/attestation.md has the mapping of checks to the vector.
#ifndef CARAVAN_ATTESTATION_EAR_H_
#define CARAVAN_ATTESTATION_EAR_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "attestation/appraisal.h"

namespace caravan::attestation {

// Whose names the claims have.
enum class EarProfile {
  kIetf,      // "tag:ietf.org,2026:rats/ear#04": ear_status, …
  kVeraison,  // "tag:github.com,2023:veraison/ear": ear.status, …, as earlier drafts and most
              // libraries have them
};

struct EarOptions {
  EarProfile profile = EarProfile::kIetf;
  std::string developer = "Caravan";  // who made the verifier
  std::string build;                  // "caravanctl 0.1.0"
  absl::Time issued;                  // iat
  absl::Time appraised;               // the time that evidence and collateral were held against
  std::string policy_id;              // "prod@sha256:…"
  std::string nonce;                  // the relying party's, 8 to 64 bytes; empty: none
};

// OK for a nonce that an EAR may echo, or none; InvalidArgument otherwise (RFC 9711, 4.1).
absl::Status CheckEarNonce(std::string_view nonce);

// The claims, as JSON. Never more trust than the appraisal has. The nonce passed CheckEarNonce.
std::string EarClaims(const Appraisal& appraisal, const EarOptions& options);

// Numbers of AR4SI, section 2.3: "instance-identity", "configuration", "executables", "hardware",
// "runtime-opaque". A claim that is absent says nothing; 0 says that something needed was missing.
using TrustVector = std::map<std::string, int>;

// The vector of the attester whose checks' ids begin with `prefix` ("SNP_").
TrustVector TrustVectorOf(const Appraisal& appraisal, std::string_view prefix);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_EAR_H_
