// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/policy/field_checker.h"

namespace caravan::attestation {
namespace {

using Path = FieldChecker::Path;

constexpr size_t kRegister = 48;
constexpr uint32_t kMaxGraceDays = 3660;

Path With(const Path& at, const char* field, int index = -1) {
  return FieldChecker::With(at, field, index);
}

void CheckAcceptedTcb(const v1::IntelPlatformPolicy& platform, const Path& at,
                      FieldChecker* fields) {
  std::set<int> seen;
  for (int i = 0; i < platform.accepted_tcb_size(); ++i) {
    const v1::AcceptedIntelTcb& accepted = platform.accepted_tcb(i);
    const Path path = With(at, "accepted_tcb", i);
    if (accepted.status() == v1::INTEL_TCB_STATUS_UNSPECIFIED) {
      fields->Report(path, "names no status, such as UP_TO_DATE");
    } else if (!v1::IntelTcbStatus_IsValid(accepted.status())) {
      fields->Report(
          path, absl::StrCat("names an unknown status, ", static_cast<int>(accepted.status())));
    } else if (!seen.insert(accepted.status()).second) {
      fields->Report(
          path, absl::StrCat("is a second one for ", v1::IntelTcbStatus_Name(accepted.status())));
    }
    const bool ages = accepted.status() == v1::OUT_OF_DATE ||
                      accepted.status() == v1::OUT_OF_DATE_CONFIGURATION_NEEDED;
    if (accepted.grace_days() != 0 && !ages) {
      fields->Report(With(path, "grace_days"), "is set, but only what is out of date has a date");
    }
    if (accepted.grace_days() > kMaxGraceDays) {
      fields->Report(With(path, "grace_days"), absl::StrCat("is over ", kMaxGraceDays));
    }
  }
}

void CheckPlatform(bool present, const v1::IntelPlatformPolicy& platform, const Path& parent,
                   FieldChecker* fields) {
  if (!present) {
    fields->Report(parent, "platform is missing");
    return;
  }
  const Path at = With(parent, "platform");
  CheckAcceptedTcb(platform, at, fields);
  const uint32_t number = platform.min_tcb_evaluation_number();
  fields->Exclusive(at, "any_tcb_evaluation_number", platform.any_tcb_evaluation_number(),
                    "min_tcb_evaluation_number", number > 0 ? 1 : 0);
  if (!platform.any_tcb_evaluation_number() && number == 0) {
    fields->Report(at,
                   "min_tcb_evaluation_number is not set: set it, or any_tcb_evaluation_number: "
                   "true");
  }
  for (int i = 0; i < platform.refused_advisories_size(); ++i) {
    const std::string& id = platform.refused_advisories(i);
    const bool plain = std::all_of(
        id.begin(), id.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-'; });
    if (!id.starts_with("INTEL-") || !plain) {
      fields->Report(With(at, "refused_advisories", i), "is no id such as INTEL-SA-00837");
    }
  }
  fields->Hex(at, "ppids", platform.ppids(), {16});
  fields->Hex(at, "fmspcs", platform.fmspcs(), {6});
  fields->Exclusive(at, "any_platform", platform.any_platform(), "ppids", platform.ppids_size());
  if (!platform.any_platform() && platform.ppids_size() == 0) {
    fields->Report(at, "ppids is empty: list one, or set any_platform: true");
  }
}

void CheckMeasurements(const v1::TdxPolicy& tdx, const Path& at, FieldChecker* fields) {
  std::set<std::string> names;
  for (int i = 0; i < tdx.measurements_size(); ++i) {
    const v1::TdxMeasurement& measurement = tdx.measurements(i);
    const Path path = With(at, "measurements", i);
    fields->Name(With(path, "name"), measurement.name());
    if (!names.insert(measurement.name()).second) {
      fields->Report(With(path, "name"),
                     absl::StrCat("\"", measurement.name(), "\" stands there twice"));
    }
    fields->CheckHex(With(path, "mrtd"), measurement.mrtd(), {kRegister});
    const std::pair<const char*, const std::string&> registers[] = {{"rtmr0", measurement.rtmr0()},
                                                                    {"rtmr1", measurement.rtmr1()},
                                                                    {"rtmr2", measurement.rtmr2()},
                                                                    {"rtmr3", measurement.rtmr3()}};
    for (const auto& [name, value] : registers) {
      if (!value.empty()) fields->CheckHex(With(path, name), value, {kRegister});
    }
  }
  fields->Exclusive(at, "any_measurement", tdx.any_measurement(), "measurements",
                    tdx.measurements_size());
  if (!tdx.any_measurement() && tdx.measurements_size() == 0) {
    fields->Report(at, "measurements is empty: list one, or set any_measurement: true");
  }
}

}  // namespace

void CheckTdxPolicy(const v1::TdxPolicy& tdx, const Path& at, FieldChecker* fields) {
  CheckPlatform(tdx.has_platform(), tdx.platform(), at, fields);
  CheckMeasurements(tdx, at, fields);
  if ((tdx.required_xfam() & tdx.forbidden_xfam()) != 0) {
    fields->Report(With(at, "forbidden_xfam"), "has bits that are required as well");
  }
  const struct {
    const char* field;
    const FieldChecker::Strings& values;
    const char* any;
    bool any_set;
  } registers[] = {
      {"mr_config_ids", tdx.mr_config_ids(), "any_mr_config_id", tdx.any_mr_config_id()},
      {"mr_owners", tdx.mr_owners(), "any_mr_owner", tdx.any_mr_owner()},
      {"mr_owner_configs", tdx.mr_owner_configs(), "any_mr_owner_config",
       tdx.any_mr_owner_config()},
      {"mr_service_tds", tdx.mr_service_tds(), "any_mr_service_td", tdx.any_mr_service_td()},
  };
  for (const auto& list : registers) {
    fields->Hex(at, list.field, list.values, {kRegister});
    fields->Exclusive(at, list.any, list.any_set, list.field, list.values.size());
  }
  fields->Hex(at, "mr_seams", tdx.mr_seams(), {kRegister});
  if (!tdx.min_tee_tcb_svn().empty()) {
    fields->CheckHex(With(at, "min_tee_tcb_svn"), tdx.min_tee_tcb_svn(), {16});
  }
}

void CheckSgxPolicy(const v1::SgxPolicy& sgx, const Path& at, FieldChecker* fields) {
  CheckPlatform(sgx.has_platform(), sgx.platform(), at, fields);
  std::set<std::string> names;
  for (int i = 0; i < sgx.enclaves_size(); ++i) {
    const v1::SgxEnclave& enclave = sgx.enclaves(i);
    const Path path = With(at, "enclaves", i);
    fields->Name(With(path, "name"), enclave.name());
    if (!names.insert(enclave.name()).second) {
      fields->Report(With(path, "name"),
                     absl::StrCat("\"", enclave.name(), "\" stands there twice"));
    }
    if (enclave.mr_enclave().empty() && enclave.mr_signer().empty()) {
      fields->Report(path, "has neither mr_enclave nor mr_signer");
    }
    if (!enclave.mr_enclave().empty()) {
      fields->CheckHex(With(path, "mr_enclave"), enclave.mr_enclave(), {32});
    }
    if (!enclave.mr_signer().empty()) {
      fields->CheckHex(With(path, "mr_signer"), enclave.mr_signer(), {32});
    }
    if (enclave.isv_prod_id() > 65535) fields->Report(With(path, "isv_prod_id"), "is over 65535");
    if (enclave.min_isv_svn() > 65535) fields->Report(With(path, "min_isv_svn"), "is over 65535");
  }
  fields->Exclusive(at, "any_enclave", sgx.any_enclave(), "enclaves", sgx.enclaves_size());
  if (!sgx.any_enclave() && sgx.enclaves_size() == 0) {
    fields->Report(at, "enclaves is empty: list one, or set any_enclave: true");
  }
  fields->Hex(at, "config_ids", sgx.config_ids(), {64});
  fields->Exclusive(at, "any_config_id", sgx.any_config_id(), "config_ids", sgx.config_ids_size());
}

namespace {

void CanonicalizePlatform(v1::IntelPlatformPolicy* platform) {
  LowerAll(platform->mutable_ppids());
  LowerAll(platform->mutable_fmspcs());
}

}  // namespace

void CanonicalizeTdxPolicy(v1::TdxPolicy* tdx) {
  if (tdx->has_platform()) CanonicalizePlatform(tdx->mutable_platform());
  for (v1::TdxMeasurement& measurement : *tdx->mutable_measurements()) {
    for (std::string* value :
         {measurement.mutable_mrtd(), measurement.mutable_rtmr0(), measurement.mutable_rtmr1(),
          measurement.mutable_rtmr2(), measurement.mutable_rtmr3()}) {
      absl::AsciiStrToLower(value);
    }
  }
  LowerAll(tdx->mutable_mr_config_ids());
  LowerAll(tdx->mutable_mr_owners());
  LowerAll(tdx->mutable_mr_owner_configs());
  LowerAll(tdx->mutable_mr_service_tds());
  LowerAll(tdx->mutable_mr_seams());
  absl::AsciiStrToLower(tdx->mutable_min_tee_tcb_svn());
}

void CanonicalizeSgxPolicy(v1::SgxPolicy* sgx) {
  if (sgx->has_platform()) CanonicalizePlatform(sgx->mutable_platform());
  for (v1::SgxEnclave& enclave : *sgx->mutable_enclaves()) {
    absl::AsciiStrToLower(enclave.mutable_mr_enclave());
    absl::AsciiStrToLower(enclave.mutable_mr_signer());
  }
  LowerAll(sgx->mutable_config_ids());
}

}  // namespace caravan::attestation
