// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/validate.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/policy/amd_roots.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation {
namespace {

using Path = std::vector<std::pair<std::string, int>>;

constexpr size_t kMaxNameSize = 64;
constexpr size_t kMaxEntries = 4096;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

class Validator {
 public:
  explicit Validator(const v1::Policy& policy) : policy_(policy) {}

  std::vector<PolicyProblem> Run() {
    Name();
    Insecure();
    if (policy_.has_snp()) Snp(policy_.snp());
    return std::move(problems_);
  }

 private:
  void Report(Path path, std::string message) {
    problems_.push_back({std::move(path), std::move(message)});
  }

  void Name() {
    const std::string& name = policy_.name();
    const bool known = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
    });
    if (name.empty() || name.size() > kMaxNameSize || !known) {
      Report({{"name", -1}},
             absl::StrCat("is \"", name, "\", expected 1 to 64 of letters, digits, '.', '_', '-'"));
    }
  }

  template <typename Strings>
  void Hex(const Path& parent, const char* field, const Strings& values,
           std::initializer_list<size_t> sizes) {
    if (static_cast<size_t>(values.size()) > kMaxEntries) {
      Report(With(parent, field, -1), absl::StrCat("has over ", kMaxEntries, " entries"));
      return;
    }
    std::set<std::string> seen;
    for (int i = 0; i < values.size(); ++i) {
      CheckHex(With(parent, field, i), values.Get(i), sizes);
      if (!seen.insert(absl::AsciiStrToLower(values.Get(i))).second) {
        Report(With(parent, field, i), "stands there twice");
      }
    }
  }

  void CheckHex(const Path& path, std::string_view value, std::initializer_list<size_t> sizes) {
    const bool sized = std::any_of(sizes.begin(), sizes.end(),
                                   [&](size_t size) { return value.size() == 2 * size; });
    if (sized && IsHex(value)) return;
    std::string wanted;
    for (size_t size : sizes) absl::StrAppend(&wanted, wanted.empty() ? "" : " or ", 2 * size);
    Report(path, IsHex(value)
                     ? absl::StrCat("has ", value.size(), " hexadecimal digits, expected ", wanted)
                     : absl::StrCat("is not hexadecimal, expected ", wanted, " digits"));
  }

  void Insecure() {
    const auto& pins = policy_.insecure_root_spki_sha256();
    Hex({}, "insecure_root_spki_sha256", pins, {32});
    for (int i = 0; i < pins.size(); ++i) {
      if (FindAmdRoot(absl::AsciiStrToLower(pins.Get(i))) != nullptr) {
        Report({{"insecure_root_spki_sha256", i}}, "is a genuine AMD root, not an insecure one");
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
      if (measurement.name().empty() || measurement.name().size() > kMaxNameSize) {
        Report(With(path, "name", -1), "has to be of 1 to 64 characters");
      } else if (!names.insert(measurement.name()).second) {
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

  void Exclusive(const Path& at, const char* any, bool set, const char* list, int size) {
    if (set && size > 0) {
      Report(With(at, any, -1), absl::StrCat("is set, but ", list, " says otherwise: keep one"));
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

  static Path With(Path path, const char* field, int index) {
    path.emplace_back(field, index);
    return path;
  }

  const v1::Policy& policy_;
  std::vector<PolicyProblem> problems_;
};

template <typename Strings>
void LowerAll(Strings* values) {
  for (std::string& value : *values) absl::AsciiStrToLower(&value);
}

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
  return Validator(policy).Run();
}

void CanonicalizePolicy(v1::Policy* policy) {
  LowerAll(policy->mutable_insecure_root_spki_sha256());
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
