// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/policy/explain.h"

namespace caravan::attestation {

ExplainLines ExplainVtpm(const v1::VtpmPolicy& vtpm, bool allow_insecure) {
  ExplainLines lines;
  if (vtpm.any_measurement()) {
    lines.push_back("ACCEPTS ANY PCR VALUES: whatever was booted passes");
  }
  for (const v1::VtpmMeasurement& measurement : vtpm.measurements()) {
    std::string line = absl::StrCat("accepts the measurement \"", measurement.name(), "\":");
    for (const v1::VtpmPcr& pcr : measurement.pcrs()) {
      absl::StrAppend(&line, " PCR", pcr.index(), " ", ShortHex(pcr.sha256()));
    }
    lines.push_back(line);
  }
  lines.push_back(vtpm.allow_secure_boot_off() ? "accepts machines without secure boot"
                                               : "requires secure boot");
  lines.push_back(vtpm.require_ak_public()
                      ? "requires the attestation key's public area: restricted, fixed to its TPM"
                      : "takes the paravisor's word for the attestation key");
  const auto hardware = [&lines](const char* kind, const ExplainLines& rules) {
    if (rules.empty()) lines.push_back(absl::StrCat("on ", kind, ": refused"));
    for (const std::string& rule : rules) lines.push_back(absl::StrCat("on ", kind, ": ", rule));
  };
  hardware("sev-snp", vtpm.has_snp() ? ExplainSnp(vtpm.snp(), allow_insecure) : ExplainLines());
  hardware("tdx", vtpm.has_tdx() ? ExplainTdx(vtpm.tdx()) : ExplainLines());
  return lines;
}

}  // namespace caravan::attestation
