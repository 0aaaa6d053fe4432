// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/policy/field_checker.h"

namespace caravan::attestation {
namespace {

class SnpValidator {
 public:
  using Path = FieldChecker::Path;

  explicit SnpValidator(FieldChecker* fields) : fields_(*fields) {}

  void Run(const v1::SnpPolicy& snp, const Path& at) {
    Measurements(snp, at);
    fields_.Hex(at, "chip_ids", snp.chip_ids(), {64, 8});
    for (int i = 0; i < snp.chip_ids_size(); ++i) {
      if (snp.chip_ids(i).find_first_not_of('0') == std::string::npos) {
        fields_.Report(With(at, "chip_ids", i), "is zero, which every masked chip id is");
      }
    }
    fields_.Exclusive(at, "any_platform", snp.any_platform(), "chip_ids", snp.chip_ids_size());
    fields_.Exclusive(at, "any_tcb", snp.any_tcb(), "tcb_floors", snp.tcb_floors_size());
    Floors(snp, at);
    Enums(at, "products", snp.products());
    Enums(at, "required_platform_info", snp.required_platform_info());
    Enums(at, "forbidden_platform_info", snp.forbidden_platform_info());
    PlatformInfo(snp, at);
    if (snp.min_abi_major() > 255) fields_.Report(With(at, "min_abi_major", -1), "is over 255");
    if (snp.min_abi_minor() > 255) fields_.Report(With(at, "min_abi_minor", -1), "is over 255");
    if (snp.max_vmpl() > 3) fields_.Report(With(at, "max_vmpl", -1), "is over 3");
    if (snp.min_firmware().major() > 255 || snp.min_firmware().minor() > 255 ||
        snp.min_firmware().build() > 255) {
      fields_.Report(With(at, "min_firmware", -1), "has a component over 255");
    }
    fields_.Hex(at, "family_ids", snp.family_ids(), {16});
    fields_.Hex(at, "image_ids", snp.image_ids(), {16});
    fields_.Hex(at, "host_data", snp.host_data(), {32});
    fields_.Hex(at, "id_key_digests", snp.id_key_digests(), {48});
    fields_.Hex(at, "author_key_digests", snp.author_key_digests(), {48});
    for (int i = 0; i < snp.vlek_csp_ids_size(); ++i) {
      if (snp.vlek_csp_ids(i).empty()) fields_.Report(With(at, "vlek_csp_ids", i), "is empty");
    }
    if (!snp.allow_vlek() && snp.vlek_csp_ids_size() > 0) {
      fields_.Report(With(at, "vlek_csp_ids", 0), "names a provider, but allow_vlek is not set");
    }
  }

 private:
  void Measurements(const v1::SnpPolicy& snp, const Path& at) {
    std::set<std::string> names;
    for (int i = 0; i < snp.measurements_size(); ++i) {
      Path path = With(at, "measurements", i);
      const v1::SnpMeasurement& measurement = snp.measurements(i);
      fields_.Name(With(path, "name", -1), measurement.name());
      if (!names.insert(measurement.name()).second) {
        fields_.Report(With(path, "name", -1),
                       absl::StrCat("\"", measurement.name(), "\" stands there twice"));
      }
      fields_.CheckHex(With(path, "sha384", -1), measurement.sha384(), {48});
    }
    fields_.Exclusive(at, "any_measurement", snp.any_measurement(), "measurements",
                      snp.measurements_size());
    if (!snp.any_measurement() && snp.measurements_size() == 0) {
      fields_.Report(at, "measurements is empty: list one, or set any_measurement: true");
    }
    if (!snp.any_platform() && snp.chip_ids_size() == 0) {
      fields_.Report(at, "chip_ids is empty: list one, or set any_platform: true");
    }
    if (!snp.any_tcb() && snp.tcb_floors_size() == 0) {
      fields_.Report(at, "tcb_floors is empty: add one, or set any_tcb: true");
    }
  }

  void Floors(const v1::SnpPolicy& snp, const Path& at) {
    std::set<int> products;
    for (int i = 0; i < snp.tcb_floors_size(); ++i) {
      const v1::SnpTcbFloor& floor = snp.tcb_floors(i);
      const Path path = With(at, "tcb_floors", i);
      if (floor.product() < v1::MILAN || floor.product() > v1::TURIN) {
        fields_.Report(path, "names no product: MILAN, GENOA or TURIN");
      } else if (!products.insert(floor.product()).second) {
        fields_.Report(path,
                       absl::StrCat("is a second one for ", v1::SnpProduct_Name(floor.product())));
      }
      for (uint32_t component :
           {floor.boot_loader(), floor.tee(), floor.snp(), floor.microcode(), floor.fmc()}) {
        if (component > 255)
          fields_.Report(path, absl::StrCat("asks for ", component, ", over 255"));
      }
      if (floor.fmc() != 0 && floor.product() != v1::TURIN) {
        fields_.Report(With(path, "fmc", -1), "is set, but only turin has that component");
      }
    }
  }

  template <typename Values>
  void Enums(const Path& at, const char* field, const Values& values) {
    for (int i = 0; i < values.size(); ++i) {
      if (values.Get(i) == 0) fields_.Report(With(at, field, i), "is unspecified");
    }
  }

  void PlatformInfo(const v1::SnpPolicy& snp, const Path& at) {
    for (int i = 0; i < snp.forbidden_platform_info_size(); ++i) {
      const auto bit = snp.forbidden_platform_info(i);
      const auto& required = snp.required_platform_info();
      const bool wanted = std::find(required.begin(), required.end(), bit) != required.end() ||
                          (bit == v1::ALIAS_CHECK_COMPLETE && !snp.allow_incomplete_alias_check());
      if (wanted) fields_.Report(With(at, "forbidden_platform_info", i), "is required as well");
    }
  }

  static Path With(const Path& at, const char* field, int index) {
    return FieldChecker::With(at, field, index);
  }

  FieldChecker& fields_;
};

}  // namespace

void CheckSnpPolicy(const v1::SnpPolicy& snp, const FieldChecker::Path& at, FieldChecker* fields) {
  SnpValidator(fields).Run(snp, at);
}

void CanonicalizeSnpPolicy(v1::SnpPolicy* snp) {
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
