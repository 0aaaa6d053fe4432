// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/policy/field_checker.h"

namespace caravan::attestation {
namespace {

using Path = FieldChecker::Path;

constexpr uint32_t kPcrs = 24;

Path With(const Path& at, const char* field, int index = -1) {
  return FieldChecker::With(at, field, index);
}

void CheckRegisters(const v1::VtpmMeasurement& measurement, const Path& at, FieldChecker* fields) {
  if (measurement.pcrs_size() == 0) fields->Report(at, "lists no register");
  std::set<uint32_t> seen;
  for (int i = 0; i < measurement.pcrs_size(); ++i) {
    const v1::VtpmPcr& pcr = measurement.pcrs(i);
    const Path path = With(at, "pcrs", i);
    if (pcr.index() >= kPcrs) {
      fields->Report(With(path, "index"), absl::StrCat("is ", pcr.index(), ", over ", kPcrs - 1));
    } else if (!seen.insert(pcr.index()).second) {
      fields->Report(With(path, "index"), absl::StrCat(pcr.index(), " stands there twice"));
    }
    fields->CheckHex(With(path, "sha256"), pcr.sha256(), {32});
  }
}

}  // namespace

void CheckVtpmPolicy(const v1::VtpmPolicy& vtpm, const Path& at, FieldChecker* fields) {
  if (!vtpm.has_snp() && !vtpm.has_tdx()) {
    fields->Report(at, "has neither snp nor tdx: rules for the hardware's report are missing");
  }
  if (vtpm.has_snp()) CheckSnpPolicy(vtpm.snp(), With(at, "snp"), fields);
  if (vtpm.has_tdx()) CheckTdxPolicy(vtpm.tdx(), With(at, "tdx"), fields);
  std::set<std::string> names;
  for (int i = 0; i < vtpm.measurements_size(); ++i) {
    const v1::VtpmMeasurement& measurement = vtpm.measurements(i);
    const Path path = With(at, "measurements", i);
    fields->Name(With(path, "name"), measurement.name());
    if (!names.insert(measurement.name()).second) {
      fields->Report(With(path, "name"),
                     absl::StrCat("\"", measurement.name(), "\" stands there twice"));
    }
    CheckRegisters(measurement, path, fields);
  }
  fields->Exclusive(at, "any_measurement", vtpm.any_measurement(), "measurements",
                    vtpm.measurements_size());
  if (!vtpm.any_measurement() && vtpm.measurements_size() == 0) {
    fields->Report(at, "measurements is empty: list one, or set any_measurement: true");
  }
}

void CanonicalizeVtpmPolicy(v1::VtpmPolicy* vtpm) {
  if (vtpm->has_snp()) CanonicalizeSnpPolicy(vtpm->mutable_snp());
  if (vtpm->has_tdx()) CanonicalizeTdxPolicy(vtpm->mutable_tdx());
  for (v1::VtpmMeasurement& measurement : *vtpm->mutable_measurements()) {
    for (v1::VtpmPcr& pcr : *measurement.mutable_pcrs()) {
      absl::AsciiStrToLower(pcr.mutable_sha256());
    }
  }
}

}  // namespace caravan::attestation
