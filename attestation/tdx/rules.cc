// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/intel/tcb_evaluation.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::tdx {
namespace {

using intel::Findings;

// XFAM: what the TDX module allows at most, and what it always sets (TDX module ABI, XFAM).
constexpr uint64_t kKnownXfam = 0x0006DBE7;
constexpr uint64_t kFixedXfam = 0x3;
// TDATTRIBUTES: TUD and SEC (TDX module ABI, TD attributes).
constexpr uint64_t kSecurityAttributes = 0xFFFFFFFF;

std::string Hex(std::string_view bytes) { return base::ToHex(crypto::AsBytes(bytes)); }

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

template <typename Values>
bool Contains(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void CheckModuleIdentity(const TdReport& report, const std::optional<intel::TcbInfo>& info,
                         Findings* findings) {
  constexpr std::string_view kWhat = "the TDX module is the one that Intel describes";
  if (!info.has_value()) {
    findings->Missing("MODULE", kWhat, "there is no TCB info to compare with");
    return;
  }
  const intel::TdxModule* module = intel::FindModule(*info, report.tee_tcb_svn);
  std::string problem;
  if (module == nullptr) {
    problem = absl::StrFormat("TCB info knows no TDX module of version %d", report.tee_tcb_svn[1]);
  } else if (report.mr_signer_seam != module->mr_signer) {
    problem = absl::StrCat("MRSIGNERSEAM is ", Hex(report.mr_signer_seam), ", TCB info says ",
                           Hex(module->mr_signer));
  } else {
    std::string masked(report.seam_attributes);
    for (size_t i = 0; i < masked.size(); ++i) {
      masked[i] = static_cast<char>(masked[i] & module->attributes_mask[i]);
    }
    if (masked != module->attributes) {
      problem = absl::StrCat("SEAMATTRIBUTES are ", Hex(masked), ", TCB info says ",
                             Hex(module->attributes));
    }
  }
  findings->Require(problem.empty(), "MODULE", kWhat, problem);
}

struct Bit {
  uint64_t mask;
  bool wanted;   // the good state
  bool allowed;  // the policy takes the other state
  const char* id;
  const char* what;
  const char* detail;
  const char* field;
};

void CheckBit(const TdReport& report, const Bit& bit, Findings* findings) {
  const bool good = ((report.attributes & bit.mask) != 0) == bit.wanted;
  if (!good && bit.allowed) {
    findings->Skip(bit.id, bit.what, absl::StrCat(bit.detail, "; the policy allows it"));
    return;
  }
  findings->Require(good, bit.id, bit.what, good ? "" : bit.detail,
                    absl::StrCat("only tdx.", bit.field, " lets it pass"));
}

void CheckXfam(const TdReport& report, const v1::TdxPolicy& policy, Findings* findings) {
  constexpr std::string_view kWhat = "the TD's extended features are as the policy asks";
  const uint64_t forbidden = report.xfam & policy.forbidden_xfam();
  const uint64_t absent = policy.required_xfam() & ~report.xfam;
  std::string problem;
  if (forbidden != 0) problem = absl::StrFormat("forbidden XFAM bits 0x%x are set", forbidden);
  if (absent != 0) {
    absl::StrAppend(&problem, problem.empty() ? "" : "; ",
                    absl::StrFormat("required XFAM bits 0x%x are clear", absent));
  }
  findings->Require(problem.empty(), "XFAM", kWhat, problem);
  const uint64_t odd = (report.xfam & ~kKnownXfam) | (~report.xfam & kFixedXfam);
  if (odd != 0) {
    findings->Warn(
        "XFAM_UNKNOWN", "XFAM has known bits alone",
        absl::StrFormat("XFAM is 0x%x, of which the bits 0x%x are not as known", report.xfam, odd));
  }
}

// The first register that differs: "RTMR2 is …, wanted …"; empty when the measurement matches.
std::string Difference(const TdReport& report, const v1::TdxMeasurement& measurement) {
  const std::pair<std::string_view, const std::string&> registers[] = {
      {report.mrtd, measurement.mrtd()},     {report.rtmr[0], measurement.rtmr0()},
      {report.rtmr[1], measurement.rtmr1()}, {report.rtmr[2], measurement.rtmr2()},
      {report.rtmr[3], measurement.rtmr3()},
  };
  constexpr const char* kNames[] = {"MRTD", "RTMR0", "RTMR1", "RTMR2", "RTMR3"};
  for (size_t i = 0; i < std::size(registers); ++i) {
    const auto& [have, want] = registers[i];
    if (want.empty() || Hex(have) == want) continue;
    return absl::StrCat(kNames[i], " is ", Hex(have), ", \"", measurement.name(), "\" has ", want);
  }
  return "";
}

void CheckMeasurement(const TdReport& report, const v1::TdxPolicy& policy, Findings* findings) {
  constexpr std::string_view kWhat = "the TD's measurement is a known one";
  findings->claim("mrtd") = Hex(report.mrtd);
  for (size_t i = 0; i < report.rtmr.size(); ++i) {
    findings->claim(absl::StrCat("rtmr", i)) = Hex(report.rtmr[i]);
  }
  if (policy.any_measurement()) {
    findings->Skip("MEASUREMENT", kWhat, "the policy takes any measurement");
    return;
  }
  std::string nearest;
  for (const v1::TdxMeasurement& measurement : policy.measurements()) {
    const std::string difference = Difference(report, measurement);
    if (difference.empty()) {
      findings->claim("measurement_name") = measurement.name();
      findings->Pass("MEASUREMENT", kWhat, measurement.name());
      return;
    }
    // One that shares MRTD says more than one of another image.
    if (nearest.empty() || Hex(report.mrtd) == measurement.mrtd()) nearest = difference;
  }
  findings->Fail("MEASUREMENT", kWhat,
                 absl::StrCat("none of the policy's ", policy.measurements_size(),
                              " measurements matches: ", nearest),
                 "the peer runs another image or version; list it in tdx.measurements if you "
                 "trust it");
}

template <typename Values>
void CheckChosen(std::string_view have, const Values& listed, bool any, const char* id,
                 const char* name, Findings* findings) {
  const std::string what = absl::StrCat(name, " is one that the policy lists");
  if (any) {
    findings->Skip(id, what, absl::StrCat("the policy takes any ", name));
    return;
  }
  const std::string hex = Hex(have);
  const bool good = listed.empty() ? IsZero(have) : Contains(listed, hex);
  findings->Require(
      good, id, what,
      good ? ""
           : absl::StrCat(name, " is ", hex,
                          listed.empty() ? ", the policy wants zero" : ", which is not listed"));
}

}  // namespace

void CheckModule(const TdReport& report, const std::optional<intel::TcbInfo>& info,
                 const v1::TdxPolicy& policy, Findings* findings) {
  findings->claim("mr_seam") = Hex(report.mr_seam);
  findings->claim("tee_tcb_svn") = base::ToHex(report.tee_tcb_svn);
  if (report.tee_tcb_svn2.has_value()) {
    findings->claim("tee_tcb_svn2") = base::ToHex(*report.tee_tcb_svn2);
  }
  CheckModuleIdentity(report, info, findings);
  if (!policy.mr_seams().empty()) {
    const bool listed = Contains(policy.mr_seams(), Hex(report.mr_seam));
    findings->Require(listed, "MR_SEAM", "the TDX module is one that the policy lists",
                      listed ? "" : absl::StrCat("MRSEAM ", Hex(report.mr_seam), " is not listed"));
  }
  if (policy.min_tee_tcb_svn().empty()) return;
  const std::string floor = base::FromHex(policy.min_tee_tcb_svn()).value_or("");
  std::string shortfall;
  for (size_t i = 0; i < floor.size() && i < report.tee_tcb_svn.size(); ++i) {
    const int want = static_cast<uint8_t>(floor[i]);
    if (report.tee_tcb_svn[i] >= want || !shortfall.empty()) continue;
    shortfall = absl::StrFormat("component %d SVN %d, policy wants >= %d", i + 1,
                                report.tee_tcb_svn[i], want);
  }
  findings->Require(shortfall.empty(), "TEE_TCB_SVN", "the TEE's TCB meets the policy's floor",
                    shortfall);
}

void CheckAttributes(const TdReport& report, const v1::TdxPolicy& policy, Findings* findings) {
  findings->claim("td_attributes") = absl::StrFormat("0x%x", report.attributes);
  findings->claim("xfam") = absl::StrFormat("0x%x", report.xfam);
  const Bit bits[] = {
      {kDebugBits, false, policy.allow_debug(), "DEBUG", "debug is off",
       "the TD is debuggable or profiled: the host can read its state", "allow_debug"},
      {kSeptVeDisable, true, policy.allow_sept_ve(), "SEPT_VE",
       "the host cannot raise #VE in the TD", "SEPT_VE_DISABLE is clear", "allow_sept_ve"},
      {kMigratable, false, policy.allow_migration(), "MIGRATION", "the TD cannot be migrated",
       "the TD is migratable", "allow_migration"},
      {kPerfmon, false, policy.allow_perfmon(), "PERFMON",
       "the TD does not use performance counters", "PERFMON is set", "allow_perfmon"},
  };
  for (const Bit& bit : bits) CheckBit(report, bit, findings);
  if (const uint64_t unknown = report.attributes & ~kKnownAttributes; unknown != 0) {
    constexpr std::string_view kWhat = "TDATTRIBUTES have known bits alone";
    const std::string detail = absl::StrFormat("unknown bits 0x%x are set", unknown);
    // The lower half says how the TD may be watched and how it is protected: what is not known
    // there may lower security.
    if ((unknown & kSecurityAttributes) != 0) {
      findings->Fail("ATTRIBUTES_UNKNOWN", kWhat, detail,
                     "a newer TDX module gave them a meaning that this verifier does not know");
    } else {
      findings->Warn("ATTRIBUTES_UNKNOWN", kWhat, detail);
    }
  }
  CheckXfam(report, policy, findings);
}

void CheckIdentity(const TdReport& report, const v1::TdxPolicy& policy, Findings* findings) {
  findings->claim("mr_config_id") = Hex(report.mr_config_id);
  findings->claim("mr_owner") = Hex(report.mr_owner);
  findings->claim("mr_owner_config") = Hex(report.mr_owner_config);
  CheckMeasurement(report, policy, findings);
  CheckChosen(report.mr_config_id, policy.mr_config_ids(), policy.any_mr_config_id(),
              "MR_CONFIG_ID", "MRCONFIGID", findings);
  CheckChosen(report.mr_owner, policy.mr_owners(), policy.any_mr_owner(), "MR_OWNER", "MROWNER",
              findings);
  CheckChosen(report.mr_owner_config, policy.mr_owner_configs(), policy.any_mr_owner_config(),
              "MR_OWNER_CONFIG", "MROWNERCONFIG", findings);
  if (!report.tee_tcb_svn2.has_value()) return;
  findings->claim("mr_service_td") = Hex(report.mr_service_td);
  CheckChosen(report.mr_service_td, policy.mr_service_tds(), policy.any_mr_service_td(),
              "MR_SERVICE_TD", "MRSERVICETD", findings);
  if (IsZero(report.extension)) return;
  findings->claim("td_extension") = Hex(report.extension);
  findings->Warn("EXTENSION", "the TD report has known fields alone",
                 "the extended TD report says more, about which there are no rules");
}

}  // namespace caravan::attestation::tdx
