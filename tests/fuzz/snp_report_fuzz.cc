// SPDX-License-Identifier: Apache-2.0
//
// SEV-SNP reports: any bytes in the place of a report, under a chain that is right.
#include "attestation/evidence.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/insecure_world.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() { return {InsecureWorld::Get().evidence().items[0].report}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using caravan::fuzz::InsecureWorld;
  caravan::attestation::EvidenceSet set = InsecureWorld::Get().evidence();
  set.items[0].report.assign(reinterpret_cast<const char*>(data), size);
  InsecureWorld::Get().RequireGenuine(set);
  return 0;
}
