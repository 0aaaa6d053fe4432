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

constexpr size_t kPdi = 8;
constexpr size_t kMaxVersionSize = 32;
constexpr uint32_t kMaxDevices = 64;
constexpr char kSwitchChip[] = "LS_10";

Path With(const Path& at, const char* field, int index = -1) {
  return FieldChecker::With(at, field, index);
}

// Parts of digits between dots, none empty.
bool IsVersion(const std::string& text, bool hexadecimal) {
  const auto is_digit = [hexadecimal](unsigned char c) {
    return hexadecimal ? absl::ascii_isxdigit(c) : absl::ascii_isdigit(c);
  };
  char before = '.';
  for (char c : text) {
    if (c == '.' ? before == '.' : !is_digit(static_cast<unsigned char>(c))) return false;
    before = c;
  }
  return before != '.' && text.size() <= kMaxVersionSize;
}

void CheckFloors(const v1::NvidiaPolicy& nvidia, const Path& at, FieldChecker* fields) {
  std::set<std::string> chips;
  for (int i = 0; i < nvidia.floors_size(); ++i) {
    const v1::NvidiaFloor& floor = nvidia.floors(i);
    const Path path = With(at, "floors", i);
    if (floor.chip().empty() || floor.chip().size() > kMaxVersionSize) {
      fields->Report(path, "names no chip, such as GH100");
    } else if (!chips.insert(floor.chip()).second) {
      fields->Report(path, absl::StrCat("is a second one for ", floor.chip()));
    }
    if (!IsVersion(floor.vbios(), true)) {
      fields->Report(With(path, "vbios"), "is no version such as 96.00.9F.00.01");
    }
    if (floor.chip() == kSwitchChip) {
      if (!floor.driver().empty()) {
        fields->Report(With(path, "driver"), "is set, but only the report of a gpu names one");
      }
    } else if (!IsVersion(floor.driver(), false)) {
      fields->Report(With(path, "driver"), "is no version such as 550.90.07");
    }
  }
  fields->Exclusive(at, "any_firmware", nvidia.any_firmware(), "floors", nvidia.floors_size());
  if (!nvidia.any_firmware() && nvidia.floors_size() == 0) {
    fields->Report(at, "floors is empty: add one, or set any_firmware: true");
  }
}

void CheckModes(const v1::NvidiaPolicy& nvidia, const Path& at, FieldChecker* fields) {
  std::set<int> seen;
  for (int i = 0; i < nvidia.modes_size(); ++i) {
    const Path path = With(at, "modes", i);
    if (nvidia.modes(i) == v1::NVIDIA_MODE_UNSPECIFIED ||
        !v1::NvidiaMode_IsValid(nvidia.modes(i))) {
      fields->Report(path, "is no mode such as NVIDIA_SPT");
    } else if (!seen.insert(nvidia.modes(i)).second) {
      fields->Report(path, "stands there twice");
    }
  }
  if (nvidia.modes_size() == 0) {
    fields->Report(at, "modes is empty: list how gpus may run, such as NVIDIA_SPT");
  }
}

}  // namespace

void CheckNvidiaPolicy(const v1::NvidiaPolicy& nvidia, const Path& at, FieldChecker* fields) {
  fields->Hex(at, "pdis", nvidia.pdis(), {kPdi});
  fields->Exclusive(at, "any_device", nvidia.any_device(), "pdis", nvidia.pdis_size());
  if (!nvidia.any_device() && nvidia.pdis_size() == 0) {
    fields->Report(at, "pdis is empty: list one, or set any_device: true");
  }
  CheckFloors(nvidia, at, fields);
  CheckModes(nvidia, at, fields);
  if (nvidia.any_measurement() && nvidia.allow_uncovered_measurements()) {
    fields->Report(With(at, "allow_uncovered_measurements"),
                   "is set, but any_measurement takes all of them");
  }
  for (const auto& [field, count] :
       {std::pair("gpus", nvidia.gpus()), std::pair("switches", nvidia.switches())}) {
    if (count > kMaxDevices) fields->Report(With(at, field), absl::StrCat("is over ", kMaxDevices));
  }
}

void CanonicalizeNvidiaPolicy(v1::NvidiaPolicy* nvidia) { LowerAll(nvidia->mutable_pdis()); }

}  // namespace caravan::attestation
