// SPDX-License-Identifier: Apache-2.0
//
// Files of people and tools, taken for evidence and for endorsements.
#include <algorithm>

#include "attestation/verify_input.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

constexpr size_t kMaxDevices = 64;

bool IsOfOneMachine(const attestation::EvidenceSet& set) {
  const size_t devices =
      std::count_if(set.items.begin(), set.items.end(), [](const attestation::Evidence& item) {
        return item.kind == attestation::EvidenceKind::kNvidia;
      });
  return !set.items.empty() && devices <= kMaxDevices && set.items.size() - devices <= 1;
}

std::vector<std::string> Seeds() {
  std::string collateral("\x04\0\0\0\x81\0\0\0", 8);
  collateral.resize(0x78, '\0');
  // A report, and behind it a table of one certificate: guid, offset, length; then zeros.
  std::string report_and_table(1184, '\0');
  report_and_table[0] = 2;
  report_and_table += std::string(16, '\x63') + std::string("\x30\0\0\0\x04\0\0\0", 8);
  report_and_table += std::string(24, '\0') + std::string("\x30\x02\x05\0", 4);
  return {
      collateral,
      report_and_table,
      "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
      "{\"tcbInfo\":{},\"signature\":\"00\"}",
      "3082010a",
      "<SoftwareIdentity/>",
      "{\"id\":\"NV_GPU_DRIVER_GH100_545.00\",\"rim\":\"PGEvPg==\"}",
      "EeAB/w==\n\n-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
      "{\"evidence\":{\"quote\":\"AAAA\",\"cc_eventlog\":null}}",
      "{\"attestation_report\":[2,0,0],\"cert_chain\":[{\"cert_type\":\"VCEK\",\"data\":[48,0]}]}",
      "{\"evidence\":\"AgAA\",\"endorsements\":\"e30=\"}",
      "[{\"arch\":\"HOPPER\",\"evidence\":\"EeAB/w==\",\"certificate\":\"LS0tLS1CRUdJTg==\"}]"};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto set = attestation::DetectEvidence(bytes);
  fuzz::Require(!set.ok() || fuzz::IsOfOneMachine(*set), "a file holds one machine's evidence");
  // A folder of two files.
  const size_t middle = bytes.find("\n\n");
  if (middle != std::string::npos) {
    const auto folder = attestation::DetectEvidenceFiles(
        {{"a", bytes.substr(0, middle)}, {"a.0", bytes.substr(middle + 2)}});
    fuzz::Require(!folder.ok() || fuzz::IsOfOneMachine(*folder),
                  "a folder holds one machine's evidence");
  }
  attestation::Endorsements endorsements;
  const bool ok = attestation::ParseEndorsements(bytes, &endorsements).ok();
  const size_t taken = endorsements.certificates.size() + endorsements.crls.size() +
                       endorsements.documents.size() + endorsements.rims.size() +
                       endorsements.ocsp_responses.size();
  fuzz::Require(taken <= attestation::kMaxEndorsements, "endorsements are bounded");
  fuzz::Require(!ok || !bytes.empty(), "an empty file is refused");
  return 0;
}
