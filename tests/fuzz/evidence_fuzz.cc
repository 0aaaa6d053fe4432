// SPDX-License-Identifier: Apache-2.0
//
// Evidence sets: decoding, then the whole verifier. Whatever is accepted is the attester's report.
#include "attestation/evidence.h"
#include "attestation/verifier.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/insecure_world.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() { return {attestation::Encode(InsecureWorld::Get().evidence())}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  using fuzz::Require;
  const auto set = attestation::DecodeEvidenceSet({data, size});
  if (!set.ok()) return 0;
  Require(attestation::Encode(*set) == std::string(reinterpret_cast<const char*>(data), size),
          "evidence sets have one encoding");
  fuzz::InsecureWorld::Get().RequireGenuine(*set);
  return 0;
}
