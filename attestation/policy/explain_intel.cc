// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_format.h"
#include "attestation/policy/explain.h"

namespace caravan::attestation {
namespace {

void ExplainTcb(const v1::IntelPlatformPolicy& platform, ExplainLines* lines) {
  if (platform.accepted_tcb().empty()) {
    lines->push_back("accepts the TCB statuses UP_TO_DATE and SW_HARDENING_NEEDED");
  }
  for (const v1::AcceptedIntelTcb& accepted : platform.accepted_tcb()) {
    std::string line =
        absl::StrCat("accepts the TCB status ", v1::IntelTcbStatus_Name(accepted.status()));
    const bool ages = accepted.status() == v1::OUT_OF_DATE ||
                      accepted.status() == v1::OUT_OF_DATE_CONFIGURATION_NEEDED;
    if (accepted.grace_days() > 0) {
      absl::StrAppend(&line, " for ", accepted.grace_days(),
                      " days after the platform fell behind");
    } else if (ages) {
      absl::StrAppend(&line, " FOR EVER, known holes included");
    }
    lines->push_back(line);
  }
  lines->push_back("refuses every other TCB status, a revoked TCB always");
  lines->push_back(platform.any_tcb_evaluation_number()
                       ? "ACCEPTS COLLATERAL OF ANY AGE that still holds"
                       : absl::StrCat("requires TCB evaluation number >= ",
                                      platform.min_tcb_evaluation_number()));
  if (!platform.refused_advisories().empty()) {
    lines->push_back(absl::StrCat("refuses platforms on which one of these is open: ",
                                  absl::StrJoin(platform.refused_advisories(), ", ")));
  }
}

void ExplainPlatform(const v1::IntelPlatformPolicy& platform, ExplainLines* lines) {
  lines->push_back(platform.any_platform()
                       ? "accepts any genuine machine"
                       : absl::StrCat("accepts ", platform.ppids_size(), " listed machine",
                                      platform.ppids_size() == 1 ? "" : "s", ": ",
                                      ShortHexList(platform.ppids())));
  if (!platform.fmspcs().empty()) {
    lines->push_back(absl::StrCat("accepts the FMSPCs ", ShortHexList(platform.fmspcs())));
  }
  ExplainTcb(platform, lines);
  lines->push_back(platform.allow_missing_crl()
                       ? "ACCEPTS CHAINS WITHOUT FRESH REVOCATION LISTS"
                       : "requires fresh revocation lists of the root and of the PCK CA");
}

void ExplainChosen(const char* name, bool any,
                   const google::protobuf::RepeatedPtrField<std::string>& values,
                   ExplainLines* lines) {
  if (any) {
    lines->push_back(absl::StrCat("accepts any ", name));
  } else if (values.empty()) {
    lines->push_back(absl::StrCat("requires ", name, " to be zero"));
  } else {
    lines->push_back(absl::StrCat("requires ", name, ": one of ", ShortHexList(values)));
  }
}

void ExplainMeasurements(const v1::TdxPolicy& tdx, ExplainLines* lines) {
  if (tdx.any_measurement()) {
    lines->push_back("ACCEPTS ANY MEASUREMENT: whatever runs there passes");
  }
  for (const v1::TdxMeasurement& measurement : tdx.measurements()) {
    std::string line = absl::StrCat("accepts the measurement \"", measurement.name(), "\": MRTD ",
                                    ShortHex(measurement.mrtd()));
    std::string unchecked;
    const std::string* registers[] = {&measurement.rtmr0(), &measurement.rtmr1(),
                                      &measurement.rtmr2(), &measurement.rtmr3()};
    for (size_t i = 0; i < std::size(registers); ++i) {
      if (registers[i]->empty()) {
        absl::StrAppend(&unchecked, unchecked.empty() ? "" : ", ", "RTMR", i);
      } else {
        absl::StrAppend(&line, ", RTMR", i, " ", ShortHex(*registers[i]));
      }
    }
    if (!unchecked.empty()) absl::StrAppend(&line, "; NOT CHECKED: ", unchecked);
    lines->push_back(line);
  }
}

}  // namespace

ExplainLines ExplainTdx(const v1::TdxPolicy& tdx) {
  ExplainLines lines;
  ExplainMeasurements(tdx, &lines);
  ExplainPlatform(tdx.platform(), &lines);
  const auto allow = [&lines](bool allowed, const char* what) {
    lines.push_back(absl::StrCat(allowed ? "accepts " : "refuses ", what));
  };
  allow(tdx.allow_debug(),
        tdx.allow_debug() ? "debuggable TDs: THE HOST CAN READ THEIR MEMORY" : "debuggable TDs");
  allow(tdx.allow_sept_ve(), "TDs in which the host can raise #VE (SEPT_VE_DISABLE clear)");
  allow(tdx.allow_migration(), "migratable TDs");
  allow(tdx.allow_perfmon(), "TDs that use performance counters");
  if (tdx.forbidden_xfam() != 0 || tdx.required_xfam() != 0) {
    lines.push_back(absl::StrFormat("requires XFAM bits 0x%x to be set and 0x%x to be clear",
                                    tdx.required_xfam(), tdx.forbidden_xfam()));
  }
  ExplainChosen("MRCONFIGID", tdx.any_mr_config_id(), tdx.mr_config_ids(), &lines);
  ExplainChosen("MROWNER", tdx.any_mr_owner(), tdx.mr_owners(), &lines);
  ExplainChosen("MROWNERCONFIG", tdx.any_mr_owner_config(), tdx.mr_owner_configs(), &lines);
  ExplainChosen("MRSERVICETD", tdx.any_mr_service_td(), tdx.mr_service_tds(), &lines);
  if (!tdx.mr_seams().empty()) {
    lines.push_back(absl::StrCat("requires MRSEAM: one of ", ShortHexList(tdx.mr_seams())));
  }
  if (!tdx.min_tee_tcb_svn().empty()) {
    lines.push_back(absl::StrCat("requires TEE TCB SVN >= ", tdx.min_tee_tcb_svn(), ", each byte"));
  }
  return lines;
}

ExplainLines ExplainSgx(const v1::SgxPolicy& sgx) {
  ExplainLines lines;
  if (sgx.any_enclave()) lines.push_back("ACCEPTS ANY ENCLAVE: whatever runs there passes");
  for (const v1::SgxEnclave& enclave : sgx.enclaves()) {
    std::string line = absl::StrCat("accepts the enclave \"", enclave.name(), "\":");
    if (!enclave.mr_enclave().empty()) {
      absl::StrAppend(&line, " MRENCLAVE ", ShortHex(enclave.mr_enclave()));
    }
    if (!enclave.mr_signer().empty()) {
      absl::StrAppend(&line, " MRSIGNER ", ShortHex(enclave.mr_signer()), " ISVPRODID ",
                      enclave.isv_prod_id());
    }
    lines.push_back(absl::StrCat(line, " ISVSVN >= ", enclave.min_isv_svn()));
  }
  ExplainPlatform(sgx.platform(), &lines);
  lines.push_back(sgx.allow_debug() ? "accepts debuggable enclaves: THE HOST CAN READ THEIR MEMORY"
                                    : "refuses debuggable enclaves");
  ExplainChosen("CONFIGID", sgx.any_config_id(), sgx.config_ids(), &lines);
  return lines;
}

}  // namespace caravan::attestation
