// SPDX-License-Identifier: Apache-2.0
//
// Intel's signed JSON: what a signature would cover is a piece of the input and reads the same
// alone.
#include "attestation/intel/collateral.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() { return {}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace intel = attestation::intel;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = intel::ParseSignedDocument(text);
  if (!document.ok()) return 0;
  fuzz::Require(text.find(document->body) != std::string::npos,
                "what is signed stands in the input");
  fuzz::Require(document->body.front() == '{' && document->body.back() == '}',
                "what is signed is one object");
  fuzz::Require(document->signature.size() == 64, "a signature is whole");
  const auto info = intel::ParseTcbInfo(document->body);
  fuzz::Require(!info.ok() || !info->levels.empty(), "TCB info has levels");
  const auto identity = intel::ParseEnclaveIdentity(document->body);
  fuzz::Require(!identity.ok() || !identity->levels.empty(), "an identity has levels");
  return 0;
}
