// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/explain.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation {
namespace {

using Lines = ExplainLines;

template <typename Values>
void OneOf(Lines* lines, const char* what, const Values& values) {
  if (values.empty()) return;
  lines->push_back(absl::StrCat("requires ", what, ": one of ", ShortHexList(values)));
}

void ExplainIdentity(const v1::SnpPolicy& snp, Lines* lines) {
  if (snp.any_measurement()) {
    lines->push_back("ACCEPTS ANY MEASUREMENT: whatever runs there passes");
  }
  for (const v1::SnpMeasurement& measurement : snp.measurements()) {
    lines->push_back(absl::StrCat("accepts the measurement \"", measurement.name(), "\" (",
                                  ShortHex(measurement.sha384()), ")"));
  }
  OneOf(lines, "family id", snp.family_ids());
  OneOf(lines, "image id", snp.image_ids());
  OneOf(lines, "host data", snp.host_data());
  OneOf(lines, "id key digest", snp.id_key_digests());
  OneOf(lines, "author key digest", snp.author_key_digests());
  if (snp.min_guest_svn() > 0) {
    lines->push_back(absl::StrCat("requires guest SVN >= ", snp.min_guest_svn()));
  }
  lines->push_back(absl::StrCat("requires VMPL <= ", snp.max_vmpl(),
                                snp.allow_host_requested()
                                    ? "; reports that the host asked for pass too"
                                    : "; reports that the host asked for are refused"));
}

void ExplainPlatform(const v1::SnpPolicy& snp, Lines* lines) {
  lines->push_back(snp.any_platform()
                       ? "accepts any genuine machine"
                       : absl::StrCat("accepts ", snp.chip_ids_size(), " listed machine",
                                      snp.chip_ids_size() == 1 ? "" : "s", ": ",
                                      ShortHexList(snp.chip_ids())));
  if (snp.products_size() > 0) {
    std::vector<std::string> names;
    for (int product : snp.products()) {
      names.emplace_back(Name(static_cast<v1::SnpProduct>(product)));
    }
    lines->push_back(absl::StrCat("accepts the products ", absl::StrJoin(names, ", ")));
  }
  for (int bit : snp.required_platform_info()) {
    lines->push_back(absl::StrCat("requires platform bit ",
                                  v1::SnpPlatformBit_Name(static_cast<v1::SnpPlatformBit>(bit))));
  }
  for (int bit : snp.forbidden_platform_info()) {
    lines->push_back(absl::StrCat("forbids platform bit ",
                                  v1::SnpPlatformBit_Name(static_cast<v1::SnpPlatformBit>(bit))));
  }
  lines->push_back(snp.allow_incomplete_alias_check()
                       ? "accepts memory whose aliases were not checked (BadRAM)"
                       : "requires ALIAS_CHECK_COMPLETE (BadRAM)");
}

void ExplainFirmware(const v1::SnpPolicy& snp, Lines* lines) {
  if (snp.any_tcb()) lines->push_back("ACCEPTS ANY FIRMWARE LEVEL, known holes included");
  for (const v1::SnpTcbFloor& floor : snp.tcb_floors()) {
    std::string line =
        absl::StrCat("requires on ", std::string(Name(floor.product())),
                     ": boot loader >= ", floor.boot_loader(), ", tee >= ", floor.tee(),
                     ", snp >= ", floor.snp(), ", microcode >= ", floor.microcode());
    if (floor.product() == v1::TURIN) absl::StrAppend(&line, ", fmc >= ", floor.fmc());
    lines->push_back(line);
  }
  if (snp.has_min_firmware()) {
    lines->push_back(absl::StrCat("requires firmware >= ", snp.min_firmware().major(), ".",
                                  snp.min_firmware().minor(), " build ",
                                  snp.min_firmware().build()));
  }
  if (snp.required_launch_mitigations() != 0 || snp.required_current_mitigations() != 0) {
    lines->push_back(absl::StrCat("requires mitigations: launch 0x",
                                  absl::Hex(snp.required_launch_mitigations()), ", current 0x",
                                  absl::Hex(snp.required_current_mitigations())));
  }
  lines->push_back(snp.allow_provisional_firmware()
                       ? "accepts firmware that the host has not committed"
                       : "refuses firmware that the host has not committed");
}

void ExplainGuest(const v1::SnpPolicy& snp, Lines* lines) {
  const auto allow = [lines](bool allowed, const char* what) {
    lines->push_back(absl::StrCat(allowed ? "accepts " : "refuses ", what));
  };
  allow(snp.allow_debug(), snp.allow_debug() ? "debuggable guests: THE HOST CAN READ THEIR MEMORY"
                                             : "debuggable guests");
  allow(snp.allow_migration_agent(), "guests with a migration agent");
  allow(snp.allow_smt(), "guests that may share a core with another thread (SMT)");
  allow(snp.allow_cxl(), "guests that may use CXL memory");
  const auto require = [lines](bool required, const char* what) {
    if (required) lines->push_back(absl::StrCat("requires the guest policy to ", what));
  };
  require(snp.require_single_socket(), "keep to a single socket");
  require(snp.require_aes_256_xts(), "ask for AES-256-XTS");
  require(snp.require_rapl_disabled(), "disable RAPL");
  require(snp.require_ciphertext_hiding(), "ask for ciphertext hiding");
  require(snp.require_page_swap_disabled(), "disable page swap");
  if (snp.min_abi_major() != 0 || snp.min_abi_minor() != 0) {
    lines->push_back(absl::StrCat("requires the guest policy to ask for ABI >= ",
                                  snp.min_abi_major(), ".", snp.min_abi_minor()));
  }
}

void ExplainKeys(const v1::SnpPolicy& snp, bool allow_insecure, Lines* lines) {
  std::string vlek = "refuses reports signed by a cloud's loaded key (VLEK)";
  if (snp.allow_vlek()) {
    vlek = "accepts reports signed by a loaded key (VLEK) of ";
    absl::StrAppend(&vlek, snp.vlek_csp_ids_size() == 0 ? "any provider"
                                                        : absl::StrJoin(snp.vlek_csp_ids(), ", "));
  }
  lines->push_back(vlek);
  if (snp.allow_masked_chip_id()) lines->push_back("accepts reports with a masked chip id");
  lines->push_back(snp.allow_missing_crl()
                       ? "ACCEPTS GENUINE CHAINS WITHOUT A FRESH REVOCATION LIST"
                       : "requires a fresh revocation list of AMD's root");
  if (allow_insecure) {
    lines->push_back(snp.require_insecure_crl()
                         ? "requires a fresh revocation list of the insecure root"
                         : "takes an insecure chain without a revocation list");
  }
}

void Add(const char* kind, const Lines& rules, Lines* lines) {
  if (rules.empty()) {
    lines->push_back(absl::StrCat(kind, ": refused, the policy has no rules for it"));
  }
  for (const std::string& rule : rules) lines->push_back(absl::StrCat(kind, ": ", rule));
}

}  // namespace

ExplainLines ExplainSnp(const v1::SnpPolicy& snp, bool allow_insecure) {
  Lines lines;
  ExplainIdentity(snp, &lines);
  ExplainPlatform(snp, &lines);
  ExplainFirmware(snp, &lines);
  ExplainGuest(snp, &lines);
  ExplainKeys(snp, allow_insecure, &lines);
  return lines;
}

std::vector<std::string> ExplainPolicy(const Policy& policy) {
  Lines lines = {absl::StrCat("policy ", PolicyLabel(policy))};
  if (policy.allow_insecure()) {
    lines.push_back(
        absl::StrCat("ACCEPTS SOFTWARE STAND-INS, which prove nothing about a "
                     "machine; pinned roots: ",
                     ShortHexList(policy.insecure_root_spki_sha256())));
  } else {
    lines.push_back("refuses software stand-ins");
  }
  Lines snp, tdx, sgx, nvidia, vtpm, composite;
  if (policy.has_snp()) snp = ExplainSnp(policy.snp(), policy.allow_insecure());
  if (policy.has_tdx()) tdx = ExplainTdx(policy.tdx());
  if (policy.has_sgx()) sgx = ExplainSgx(policy.sgx());
  if (policy.has_nvidia()) nvidia = ExplainNvidia(policy.nvidia(), policy.allow_insecure());
  if (policy.has_vtpm()) vtpm = ExplainVtpm(policy.vtpm(), policy.allow_insecure());
  if (policy.has_composite()) {
    composite = ExplainComposite(policy.composite(), policy.allow_insecure());
  }
  Add("sev-snp", snp, &lines);
  Add("tdx", tdx, &lines);
  Add("sgx", sgx, &lines);
  Add("nvidia", nvidia, &lines);
  Add("vtpm", vtpm, &lines);
  Add("devices beside a CPU", composite, &lines);
  return lines;
}

}  // namespace caravan::attestation
