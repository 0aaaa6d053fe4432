// SPDX-License-Identifier: Apache-2.0
//
// HCL reports and their runtime claims: what is read lies inside the input.
#include "attestation/insecure_software/forge_vtpm.h"
#include "attestation/tpm/hcl_report.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() {
  namespace forge = attestation::insecure_software;
  const auto ak = forge::MakeRsaKey();
  Require(ak.ok(), "a key can be made");
  const auto claims = forge::MakeRuntimeClaims(ak->get());
  Require(claims.ok(), "claims can be made");
  return {forge::MakeHclReport(attestation::tpm::HardwareType::kSnp, "report", *claims),
          forge::MakeHclReport(attestation::tpm::HardwareType::kTdx, "report", *claims), *claims};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace tpm = attestation::tpm;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)tpm::ParseRuntimeClaims(bytes);
  const auto report = tpm::ParseHclReport(bytes);
  if (!report.ok()) return 0;
  for (std::string_view view :
       {report->hardware_report, report->report_data, report->claims, report->trailing}) {
    fuzz::Require(
        view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size(),
        "a report's parts lie in its bytes");
  }
  fuzz::Require(report->report_data.size() == 64, "report data have one size");
  fuzz::Require(report->claims.data() + report->claims.size() == report->trailing.data(),
                "a report's parts leave nothing out");
  const auto claims = tpm::ParseRuntimeClaims(report->claims);
  if (claims.ok()) fuzz::Require(claims->ak_modulus.size() == 256, "a key has one size");
  return 0;
}
