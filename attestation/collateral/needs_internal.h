// SPDX-License-Identifier: Apache-2.0
//
// What collecting needs has in common, whoever made the device.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_NEEDS_INTERNAL_H_
#define CARAVAN_ATTESTATION_COLLATERAL_NEEDS_INTERNAL_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "attestation/collateral/needs.h"
#include "attestation/x509.h"

namespace caravan::attestation {

using Certificates = std::vector<Certificate>;

// What cannot be read is for the verifier to complain about.
inline Certificates ParseAll(const std::vector<std::string>& ders) {
  Certificates certificates;
  for (const std::string& der : ders) {
    absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
    if (certificate.ok()) certificates.push_back(*std::move(certificate));
  }
  return certificates;
}

inline bool IsInsecure(const Certificates& certificates) {
  return std::any_of(certificates.begin(), certificates.end(), [](const Certificate& certificate) {
    return certificate.SubjectCommonName().starts_with(kInsecureNamePrefix);
  });
}

// Once, whoever asks.
inline void Want(CollateralKind kind, std::string key, CollateralNeeds* needs,
                 std::string post = "") {
  CollateralRequest request{kind, std::move(key), std::move(post)};
  const auto at = std::find(needs->requests.begin(), needs->requests.end(), request);
  if (at == needs->requests.end()) needs->requests.push_back(std::move(request));
}

// Manifests of the device's firmware, and OCSP's word on its certificates and on the manifests'
// signers, once those are at hand.
absl::Status CollectNvidia(const Evidence& evidence, const Endorsements& at_hand,
                           CollateralNeeds* needs);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_NEEDS_INTERNAL_H_
