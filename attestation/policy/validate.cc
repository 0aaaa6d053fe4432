// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/validate.h"

#include <algorithm>
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
    if (policy_.has_snp()) CheckSnpPolicy(policy_.snp(), {{"snp", -1}}, this);
    if (policy_.has_tdx()) CheckTdxPolicy(policy_.tdx(), {{"tdx", -1}}, this);
    if (policy_.has_sgx()) CheckSgxPolicy(policy_.sgx(), {{"sgx", -1}}, this);
    if (policy_.has_nvidia()) CheckNvidiaPolicy(policy_.nvidia(), {{"nvidia", -1}}, this);
    if (policy_.has_composite()) CheckCompositePolicy(policy_, {{"composite", -1}}, this);
    if (policy_.has_vtpm()) CheckVtpmPolicy(policy_.vtpm(), {{"vtpm", -1}}, this);
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
  if (policy->has_snp()) CanonicalizeSnpPolicy(policy->mutable_snp());
  if (policy->has_nvidia()) CanonicalizeNvidiaPolicy(policy->mutable_nvidia());
  if (policy->has_vtpm()) CanonicalizeVtpmPolicy(policy->mutable_vtpm());
}

}  // namespace caravan::attestation
