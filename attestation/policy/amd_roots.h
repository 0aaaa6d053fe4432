// SPDX-License-Identifier: Apache-2.0
//
// AMD's root keys (ARK), pinned by SHA-256 over the SubjectPublicKeyInfo: a second certificate for
// the same key is as good, another key under the same name is not. Source: the cert_chain documents
// of AMD's key distribution service (AMD 57230).
#ifndef CARAVAN_ATTESTATION_POLICY_AMD_ROOTS_H_
#define CARAVAN_ATTESTATION_POLICY_AMD_ROOTS_H_

#include <string_view>

#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation {

struct AmdRoot {
  v1::SnpProduct product;
  std::string_view spki_sha256;  // hexadecimal, lower case
};

inline constexpr AmdRoot kAmdRoots[] = {
    {v1::MILAN, "9f056bee44377e29308cb5ffa895bdfb62d18881fa6bed8d6f075b0204089cb9"},
    {v1::GENOA, "429a69c9422aa258ee4d8db5fcda9c6470ef15f8cd5a9cebd6cbc7d90b863831"},
    {v1::TURIN, "4f125410563a2ab9a50356f9243f6fe0b6f73de98603f53f90339c70e9d7ad08"},
};

// Null when the key is none of AMD's.
constexpr const AmdRoot* FindAmdRoot(std::string_view spki_sha256) {
  for (const AmdRoot& root : kAmdRoots) {
    if (root.spki_sha256 == spki_sha256) return &root;
  }
  return nullptr;
}

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_AMD_ROOTS_H_
