// SPDX-License-Identifier: Apache-2.0
//
// Policies: what parses is valid and survives explanation, digest and another parse.
#include "attestation/policy/policy.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() { return {}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto policy = attestation::ParsePolicy(text, "fuzz.textproto");
  if (!policy.ok()) return 0;
  fuzz::Require(attestation::ValidatePolicy(*policy).ok(), "a parsed policy is valid");
  attestation::ExplainPolicy(*policy);
  attestation::Policy canonical = *policy;
  attestation::CanonicalizePolicy(&canonical);
  fuzz::Require(attestation::PolicyDigest(canonical) == attestation::PolicyDigest(*policy),
                "a parsed policy is canonical");
  return 0;
}
