// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/sev_snp/rules.h"

namespace caravan::attestation::sev_snp {
namespace {

void RequireNone(const std::optional<std::string>& shortfall, std::string_view id,
                 std::string_view what, const std::string& hint, CheckList* checks) {
  checks->Require(!shortfall.has_value(), id, what, shortfall.value_or(""), hint);
}

struct Tcbs {
  Tcb reported, committed, current, launch;
};

void CheckRelations(const Tcbs& tcb, const Leaf& leaf, CheckList* checks) {
  RequireNone(Difference(tcb.reported, leaf.tcb, "certificate says"), "SNP_TCB_CERTIFICATE",
              "the certificate is for the reported TCB",
              "fetch the VCEK of REPORTED_TCB, not of CURRENT_TCB", checks);
  RequireNone(Shortfall(tcb.committed, tcb.reported, "reported is"), "SNP_TCB_COMMITTED",
              "the reported TCB is committed", "", checks);
  RequireNone(Shortfall(tcb.current, tcb.committed, "committed is"), "SNP_TCB_CURRENT",
              "the current TCB is at least the committed one", "", checks);
  RequireNone(Shortfall(tcb.current, tcb.launch, "at launch it was"), "SNP_TCB_LAUNCH",
              "the TCB has not fallen since launch", "", checks);
}

void CheckFloor(const Tcbs& tcb, const Leaf& leaf, const v1::SnpPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "the TCB meets the policy's floor";
  constexpr std::string_view kLaunchWhat = "the TCB at launch met the policy's floor";
  if (policy.any_tcb()) {
    checks->Skip("SNP_TCB_FLOOR", kWhat, "the policy takes any TCB");
    return;
  }
  for (const v1::SnpTcbFloor& floor : policy.tcb_floors()) {
    if (floor.product() != leaf.product) continue;
    const Tcb want{.fmc = static_cast<uint8_t>(floor.fmc()),
                   .boot_loader = static_cast<uint8_t>(floor.boot_loader()),
                   .tee = static_cast<uint8_t>(floor.tee()),
                   .snp = static_cast<uint8_t>(floor.snp()),
                   .microcode = static_cast<uint8_t>(floor.microcode())};
    RequireNone(Shortfall(tcb.reported, want, "policy wants >="), "SNP_TCB_FLOOR", kWhat,
                "the machine's owner has to update its firmware", checks);
    RequireNone(Shortfall(tcb.launch, want, "policy wants >="), "SNP_TCB_LAUNCH_FLOOR", kLaunchWhat,
                "restart the guest on the updated firmware", checks);
    return;
  }
  checks->Fail("SNP_TCB_FLOOR", kWhat,
               absl::StrCat("the policy has no floor for ", std::string(AmdName(leaf.product)),
                            "; the report's TCB is ", Describe(tcb.reported, leaf.product)),
               "add a tcb_floors entry for the product");
}

void CheckFirmware(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  constexpr std::string_view kProvisional = "the running firmware is committed";
  const bool same =
      report.current == report.committed && report.current_tcb == report.committed_tcb;
  if (policy.allow_provisional_firmware()) {
    checks->Skip("SNP_PROVISIONAL", kProvisional, "the policy takes uncommitted firmware");
  } else {
    checks->Require(same, "SNP_PROVISIONAL", kProvisional,
                    same ? ""
                         : absl::StrCat("running ", report.current.ToString(), ", committed ",
                                        report.committed.ToString(),
                                        report.current == report.committed
                                            ? ", of the same version but another TCB"
                                            : ""),
                    "the host can still roll back: have it commit, or set "
                    "snp.allow_provisional_firmware");
  }
  if (report.committed > report.current) {
    checks->Fail("SNP_FIRMWARE", "the firmware is recent enough",
                 absl::StrCat("running ", report.current.ToString(), ", below the committed ",
                              report.committed.ToString()));
    return;
  }
  if (!policy.has_min_firmware()) return;
  const FirmwareVersion want{.major = static_cast<uint8_t>(policy.min_firmware().major()),
                             .minor = static_cast<uint8_t>(policy.min_firmware().minor()),
                             .build = static_cast<uint8_t>(policy.min_firmware().build())};
  checks->Require(report.committed >= want, "SNP_FIRMWARE", "the firmware is recent enough",
                  absl::StrCat("committed ", report.committed.ToString(),
                               ", policy wants >= ", want.ToString()));
}

void CheckMitigations(const Report& report, const v1::SnpPolicy& policy, CheckList* checks) {
  const struct {
    uint64_t have, want;
    const char* name;
  } vectors[] = {
      {report.launch_mitigations, policy.required_launch_mitigations(), "launch"},
      {report.current_mitigations, policy.required_current_mitigations(), "current"},
  };
  for (const auto& vector : vectors) {
    if (vector.want == 0) continue;
    const uint64_t absent = vector.want & ~vector.have;
    checks->Require(
        absent == 0, "SNP_MITIGATIONS", "required mitigations are in place",
        absent == 0
            ? ""
            : absl::StrFormat("%s mitigations lack 0x%x%s", vector.name, absent,
                              report.version < 5 ? ": reports before version 5 tell none" : ""));
  }
}

}  // namespace

void CheckTcb(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
              CheckList* checks) {
  const Tcbs tcb{.reported = DecodeTcb(report.reported_tcb, leaf.product),
                 .committed = DecodeTcb(report.committed_tcb, leaf.product),
                 .current = DecodeTcb(report.current_tcb, leaf.product),
                 .launch = DecodeTcb(report.launch_tcb, leaf.product)};
  checks->appraisal().claims["reported_tcb"] = Describe(tcb.reported, leaf.product);
  for (const RawTcb* raw :
       {&report.reported_tcb, &report.committed_tcb, &report.current_tcb, &report.launch_tcb}) {
    if (!HasReservedTcbBits(*raw, leaf.product)) continue;
    checks->Warn("SNP_TCB_RESERVED", "TCB versions have known components alone",
                 "a reserved component of a TCB version is not zero");
    break;
  }
  CheckRelations(tcb, leaf, checks);
  CheckFloor(tcb, leaf, policy, checks);
  CheckFirmware(report, policy, checks);
  CheckMitigations(report, policy, checks);
}

}  // namespace caravan::attestation::sev_snp
