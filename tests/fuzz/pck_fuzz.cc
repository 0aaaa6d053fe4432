// SPDX-License-Identifier: Apache-2.0
//
// PCK extensions, in a certificate that is right otherwise.
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/intel/pck.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() {
  attestation::insecure_software::PckSpec processor;
  processor.platform_instance_id.reset();
  return {attestation::insecure_software::PckExtension({}),
          attestation::insecure_software::PckExtension(processor)};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace forge = attestation::insecure_software;
  static EVP_PKEY* const key = forge::MakeP256Key()->release();
  if (size > 8192) return 0;
  forge::CertificateSpec spec{.common_name = "pck",
                              .issuer_name = "ca",
                              .subject_key = key,
                              .issuer_key = key,
                              .not_before = absl::UnixEpoch(),
                              .not_after = absl::UnixEpoch()};
  spec.extensions = {{attestation::intel::kOidSgxExtensions,
                      std::string(reinterpret_cast<const char*>(data), size)}};
  const auto der = forge::MakeCertificate(spec);
  fuzz::Require(der.ok(), "a certificate can be made");
  const auto certificate = attestation::Certificate::Parse(*der);
  if (!certificate.ok()) return 0;
  const auto pck = attestation::intel::ParsePck(*certificate);
  if (!pck.ok()) return 0;
  fuzz::Require(pck->fmspc.size() == 6 && pck->ppid.size() == 16 && pck->pce_id.size() == 2,
                "a PCK's parts have their sizes");
  return 0;
}
