// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/validate.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/policy/amd_roots.h"
#include "attestation/policy/field_checker.h"
#include "attestation/policy/intel_roots.h"
#include "attestation/policy/nvidia_roots.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation {
namespace {

class Validator : private FieldChecker {
 public:
  Validator(const v1::Policy& policy, std::vector<PolicyProblem>* problems)
      : FieldChecker(problems), policy_(policy) {}

  void Run() {
    PolicyName();
    Insecure();
    if (policy_.has_snp()) Snp(policy_.snp());
    if (policy_.has_tdx()) CheckTdxPolicy(policy_.tdx(), {{"tdx", -1}}, this);
    if (policy_.has_sgx()) CheckSgxPolicy(policy_.sgx(), {{"sgx", -1}}, this);
    if (policy_.has_nvidia()) CheckNvidiaPolicy(policy_.nvidia(), {{"nvidia", -1}}, this);
  }

 private:
  // Whose genuine root has this key; null for nobody's.
  static const char* MakerOf(std::string_view spki_sha256) {
    if (FindAmdRoot(spki_sha256) != nullptr) return "AMD";
    if (spki_sha256 == kIntelRootSpkiSha256) return "Intel";
    const bool nvidia =
        spki_sha256 == kNvidiaDeviceRootSpkiSha256 || spki_sha256 == kNvidiaRimRootSpkiSha256;
    return nvidia ? "NVIDIA" : nullptr;
  }

  void PolicyName() {
    const std::string& name = policy_.name();
    const bool known = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
    });
    if (name.empty() || name.size() > kMaxPolicyNameSize || !known) {
      Report({{"name", -1}},
             absl::StrCat("is \"", name, "\", expected 1 to 64 of letters, digits, '.', '_', '-'"));
    }
  }

  void Insecure() {
    const auto& pins = policy_.insecure_root_spki_sha256();
    Hex({}, "insecure_root_spki_sha256", pins, {32});
    for (int i = 0; i < pins.size(); ++i) {
      const std::string pin = absl::AsciiStrToLower(pins.Get(i));
      if (const char* maker = MakerOf(pin); maker != nullptr) {
        Report({{"insecure_root_spki_sha256", i}},
               absl::StrCat("is a genuine ", maker, " root, not an insecure one"));
      }
    }
    if (policy_.allow_insecure() && pins.empty()) {
      Report({{"allow_insecure", -1}}, "is set, but insecure_root_spki_sha256 pins no root");
    }
    if (!policy_.allow_insecure() && !pins.empty()) {
      Report({{"insecure_root_spki_sha256", 0}}, "pins a root, but allow_insecure is not set");
    }
  }

  void Snp(const v1::SnpPolicy& snp) {
    const Path at = {{"snp", -1}};
    Measurements(snp, at);
    Hex(at, "chip_ids", snp.chip_ids(), {64, 8});
    for (int i = 0; i < snp.chip_ids_size(); ++i) {
      if (snp.chip_ids(i).find_first_not_of('0') == std::string::npos) {
        Report(With(at, "chip_ids", i), "is zero, which every masked chip id is");
      }
    }
    Exclusive(at, "any_platform", snp.any_platform(), "chip_ids", snp.chip_ids_size());
    Exclusive(at, "any_tcb", snp.any_tcb(), "tcb_floors", snp.tcb_floors_size());
    Floors(snp, at);
    Enums(at, "products", snp.products());
    Enums(at, "required_platform_info", snp.required_platform_info());
    Enums(at, "forbidden_platform_info", snp.forbidden_platform_info());
    PlatformInfo(snp, at);
    if (snp.min_abi_major() > 255) Report(With(at, "min_abi_major", -1), "is over 255");
    if (snp.min_abi_minor() > 255) Report(With(at, "min_abi_minor", -1), "is over 255");
    if (snp.max_vmpl() > 3) Report(With(at, "max_vmpl", -1), "is over 3");
    if (snp.min_firmware().major() > 255 || snp.min_firmware().minor() > 255 ||
        snp.min_firmware().build() > 255) {
      Report(With(at, "min_firmware", -1), "has a component over 255");
    }
    Hex(at, "family_ids", snp.family_ids(), {16});
    Hex(at, "image_ids", snp.image_ids(), {16});
    Hex(at, "host_data", snp.host_data(), {32});
    Hex(at, "id_key_digests", snp.id_key_digests(), {48});
    Hex(at, "author_key_digests", snp.author_key_digests(), {48});
    for (int i = 0; i < snp.vlek_csp_ids_size(); ++i) {
      if (snp.vlek_csp_ids(i).empty()) Report(With(at, "vlek_csp_ids", i), "is empty");
    }
    if (!snp.allow_vlek() && snp.vlek_csp_ids_size() > 0) {
      Report(With(at, "vlek_csp_ids", 0), "names a provider, but allow_vlek is not set");
    }
  }

  void Measurements(const v1::SnpPolicy& snp, const Path& at) {
    std::set<std::string> names;
    for (int i = 0; i < snp.measurements_size(); ++i) {
      Path path = With(at, "measurements", i);
      const v1::SnpMeasurement& measurement = snp.measurements(i);
      Name(With(path, "name", -1), measurement.name());
      if (!names.insert(measurement.name()).second) {
        Report(With(path, "name", -1),
               absl::StrCat("\"", measurement.name(), "\" stands there twice"));
      }
      CheckHex(With(path, "sha384", -1), measurement.sha384(), {48});
    }
    Exclusive(at, "any_measurement", snp.any_measurement(), "measurements",
              snp.measurements_size());
    if (!snp.any_measurement() && snp.measurements_size() == 0) {
      Report(at, "measurements is empty: list one, or set any_measurement: true");
    }
    if (!snp.any_platform() && snp.chip_ids_size() == 0) {
      Report(at, "chip_ids is empty: list one, or set any_platform: true");
    }
    if (!snp.any_tcb() && snp.tcb_floors_size() == 0) {
      Report(at, "tcb_floors is empty: add one, or set any_tcb: true");
    }
  }

  void Floors(const v1::SnpPolicy& snp, const Path& at) {
    std::set<int> products;
    for (int i = 0; i < snp.tcb_floors_size(); ++i) {
      const v1::SnpTcbFloor& floor = snp.tcb_floors(i);
      const Path path = With(at, "tcb_floors", i);
      if (floor.product() < v1::MILAN || floor.product() > v1::TURIN) {
        Report(path, "names no product: MILAN, GENOA or TURIN");
      } else if (!products.insert(floor.product()).second) {
        Report(path, absl::StrCat("is a second one for ", v1::SnpProduct_Name(floor.product())));
      }
      for (uint32_t component :
           {floor.boot_loader(), floor.tee(), floor.snp(), floor.microcode(), floor.fmc()}) {
        if (component > 255) Report(path, absl::StrCat("asks for ", component, ", over 255"));
      }
      if (floor.fmc() != 0 && floor.product() != v1::TURIN) {
        Report(With(path, "fmc", -1), "is set, but only turin has that component");
      }
    }
  }

  template <typename Values>
  void Enums(const Path& at, const char* field, const Values& values) {
    for (int i = 0; i < values.size(); ++i) {
      if (values.Get(i) == 0) Report(With(at, field, i), "is unspecified");
    }
  }

  void PlatformInfo(const v1::SnpPolicy& snp, const Path& at) {
    for (int i = 0; i < snp.forbidden_platform_info_size(); ++i) {
      const auto bit = snp.forbidden_platform_info(i);
      const auto& required = snp.required_platform_info();
      const bool wanted = std::find(required.begin(), required.end(), bit) != required.end() ||
                          (bit == v1::ALIAS_CHECK_COMPLETE && !snp.allow_incomplete_alias_check());
      if (wanted) Report(With(at, "forbidden_platform_info", i), "is required as well");
    }
  }

  const v1::Policy& policy_;
};

}  // namespace

std::string PolicyProblem::PathText() const {
  std::string text;
  for (const auto& [field, index] : path) {
    absl::StrAppend(&text, text.empty() ? "" : ".", field);
    if (index >= 0) absl::StrAppend(&text, "[", index, "]");
  }
  return text;
}

std::vector<PolicyProblem> FindPolicyProblems(const v1::Policy& policy) {
  std::vector<PolicyProblem> problems;
  Validator(policy, &problems).Run();
  return problems;
}

void CanonicalizePolicy(v1::Policy* policy) {
  LowerAll(policy->mutable_insecure_root_spki_sha256());
  if (policy->has_tdx()) CanonicalizeTdxPolicy(policy->mutable_tdx());
  if (policy->has_sgx()) CanonicalizeSgxPolicy(policy->mutable_sgx());
  if (policy->has_nvidia()) CanonicalizeNvidiaPolicy(policy->mutable_nvidia());
  if (!policy->has_snp()) return;
  v1::SnpPolicy* snp = policy->mutable_snp();
  for (v1::SnpMeasurement& m : *snp->mutable_measurements()) {
    absl::AsciiStrToLower(m.mutable_sha384());
  }
  LowerAll(snp->mutable_chip_ids());
  LowerAll(snp->mutable_family_ids());
  LowerAll(snp->mutable_image_ids());
  LowerAll(snp->mutable_host_data());
  LowerAll(snp->mutable_id_key_digests());
  LowerAll(snp->mutable_author_key_digests());
}

}  // namespace caravan::attestation
