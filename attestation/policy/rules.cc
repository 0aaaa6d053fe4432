// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/rules.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace caravan::attestation {
namespace {

struct Row {
  std::string_view check;   // the id behind its prefix
  std::string_view fields;  // of the message below, a space between them
};

constexpr Row kSnp[] = {
    {"POLICY", ""},
    {"DEBUG", "allow_debug"},
    {"MIGRATE_MA", "allow_migration_agent"},
    {"REPORT_ID_MA", "allow_migration_agent"},
    {"SMT", "allow_smt"},
    {"CXL", "allow_cxl"},
    {"SINGLE_SOCKET", "require_single_socket"},
    {"AES_256_XTS", "require_aes_256_xts"},
    {"RAPL", "require_rapl_disabled"},
    {"CIPHERTEXT_HIDING", "require_ciphertext_hiding"},
    {"PAGE_SWAP", "require_page_swap_disabled"},
    {"ABI", "min_abi_major min_abi_minor"},
    {"PLATFORM_INFO", "required_platform_info forbidden_platform_info"},
    {"ALIAS_CHECK", "allow_incomplete_alias_check"},
    {"MEASUREMENT", "measurements any_measurement"},
    {"VMPL", "max_vmpl allow_host_requested"},
    {"ID_KEY", "id_key_digests"},
    {"AUTHOR_KEY", "author_key_digests"},
    {"GUEST_SVN", "min_guest_svn"},
    {"FAMILY_ID", "family_ids"},
    {"IMAGE_ID", "image_ids"},
    {"HOST_DATA", "host_data"},
    {"VLEK", "allow_vlek"},
    {"CSP", "vlek_csp_ids"},
    {"CHIP_ID", "allow_masked_chip_id"},
    {"PLATFORM", "chip_ids any_platform"},
    {"PRODUCT_LIST", "products"},
    {"TCB_FLOOR", "tcb_floors any_tcb"},
    {"TCB_LAUNCH_FLOOR", "tcb_floors any_tcb"},
    {"PROVISIONAL", "allow_provisional_firmware"},
    {"FIRMWARE", "min_firmware"},
    {"MITIGATIONS", "required_launch_mitigations required_current_mitigations"},
    {"CRL", "allow_missing_crl require_insecure_crl"},
};

// Rows for TDX and for SGX.
constexpr Row kIntel[] = {
    {"POLICY", ""},
    {"DEBUG", "allow_debug"},
    {"PLATFORM", "platform.ppids platform.any_platform"},
    {"FMSPC", "platform.fmspcs"},
    {"TCB_STATUS", "platform.accepted_tcb"},
    {"ADVISORIES", "platform.refused_advisories"},
    {"TCB_INFO_EVALUATION",
     "platform.min_tcb_evaluation_number platform.any_tcb_evaluation_number"},
    {"QE_IDENTITY_EVALUATION",
     "platform.min_tcb_evaluation_number platform.any_tcb_evaluation_number"},
    {"ROOT_CRL", "platform.allow_missing_crl"},
    {"PCK_CRL", "platform.allow_missing_crl"},
};

constexpr Row kTdx[] = {
    {"MEASUREMENT", "measurements any_measurement"},
    {"SEPT_VE", "allow_sept_ve"},
    {"MIGRATION", "allow_migration"},
    {"PERFMON", "allow_perfmon"},
    {"XFAM", "forbidden_xfam required_xfam"},
    {"MR_CONFIG_ID", "mr_config_ids any_mr_config_id"},
    {"MR_OWNER", "mr_owners any_mr_owner"},
    {"MR_OWNER_CONFIG", "mr_owner_configs any_mr_owner_config"},
    {"MR_SERVICE_TD", "mr_service_tds any_mr_service_td"},
    {"MR_SEAM", "mr_seams"},
    {"TEE_TCB_SVN", "min_tee_tcb_svn"},
};

constexpr Row kSgx[] = {
    {"ENCLAVE", "enclaves any_enclave"},
    {"CONFIG_ID", "config_ids any_config_id"},
};

constexpr Row kNvidia[] = {
    {"POLICY", ""},
    {"DEVICE", "pdis any_device"},
    {"VBIOS", "floors any_firmware"},
    {"DRIVER", "floors any_firmware"},
    {"GOLDEN", "any_measurement"},
    {"GOLDEN_CONFLICT", "any_measurement"},
    {"GOLDEN_COVERAGE", "any_measurement allow_uncovered_measurements"},
    {"PRODUCTION", "any_measurement allow_uncovered_measurements"},
    {"DRIVER_RIM", "any_measurement"},
    {"VBIOS_RIM", "any_measurement"},
    {"SWITCH_RIM", "any_measurement"},
    {"MODE", "modes"},
    {"SWITCH_LOCK", "allow_unlocked_switches"},
    {"FWID", "allow_missing_fwid"},
    {"OCSP", "allow_missing_ocsp require_insecure_ocsp"},
    {"HOLD", "allow_certificate_hold"},
    {"SET_COUNT", "gpus switches"},
    {"SET_COMPLETE", "allow_incomplete_set"},
};

constexpr Row kVtpm[] = {
    {"POLICY", ""},
    {"MEASUREMENT", "measurements any_measurement"},
    {"SECURE_BOOT", "allow_secure_boot_off"},
    {"AK_ATTRIBUTES", "require_ak_public"},
};

constexpr Row kComposite[] = {
    {"POLICY", ""},
    {"DEVICES", "gpus switches allow_cpu_alone"},
};

struct Group {
  std::string_view prefix, message;
  const Row* rows;
  size_t size;
};

template <size_t kSize>
constexpr Group Of(std::string_view prefix, std::string_view message, const Row (&rows)[kSize]) {
  return {prefix, message, rows, kSize};
}

constexpr Group kGroups[] = {Of("SNP_", "snp", kSnp),    Of("TDX_", "tdx", kIntel),
                             Of("TDX_", "tdx", kTdx),    Of("SGX_", "sgx", kIntel),
                             Of("SGX_", "sgx", kSgx),    Of("NVIDIA_", "nvidia", kNvidia),
                             Of("VTPM_", "vtpm", kVtpm), Of("COMPOSITE_", "composite", kComposite)};

void Append(const Group& group, const Row& row, std::vector<std::string>* paths) {
  if (row.fields.empty()) paths->emplace_back(group.message);
  const std::vector<std::string> fields =
      absl::StrSplit(std::string(row.fields), ' ', absl::SkipEmpty());
  for (const std::string& field : fields) {
    paths->push_back(absl::StrCat(std::string(group.message), ".", field));
  }
}

// A manifest's signers are looked up like a device's: NVIDIA_DRIVER_RIM_OCSP.
bool Names(const Group& group, const Row& row, std::string_view id) {
  if (id == row.check) return true;
  const bool status = row.check == "OCSP" || row.check == "HOLD";
  return status && group.message == "nvidia" &&
         id.ends_with(absl::StrCat("_RIM_", std::string(row.check)));
}

const std::vector<std::string>& Insecure() {
  static const auto* const paths =
      new std::vector<std::string>{"allow_insecure", "insecure_root_spki_sha256"};
  return *paths;
}

}  // namespace

std::vector<std::string> RulesOf(std::string_view check_id) {
  if (check_id == "GPU_NOT_ATTACHED") return {"allow_insecure"};
  if (check_id.ends_with("_INSECURE") || check_id.ends_with("_ROOT")) return Insecure();
  std::vector<std::string> paths;
  for (const Group& group : kGroups) {
    if (!check_id.starts_with(group.prefix)) continue;
    const std::string_view id = check_id.substr(group.prefix.size());
    for (size_t i = 0; i < group.size; ++i) {
      if (Names(group, group.rows[i], id)) Append(group, group.rows[i], &paths);
    }
  }
  return paths;
}

std::vector<std::string> AllRules() {
  std::vector<std::string> paths = Insecure();
  for (const Group& group : kGroups) {
    for (size_t i = 0; i < group.size; ++i) Append(group, group.rows[i], &paths);
  }
  return paths;
}

}  // namespace caravan::attestation
