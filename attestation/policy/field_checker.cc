// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/field_checker.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace caravan::attestation {
namespace {

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

void FieldChecker::Hex(const Path& parent, const char* field, const Strings& values,
                       std::initializer_list<size_t> sizes) {
  if (static_cast<size_t>(values.size()) > kMaxPolicyEntries) {
    Report(With(parent, field, -1), absl::StrCat("has over ", kMaxPolicyEntries, " entries"));
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

void FieldChecker::CheckHex(const Path& path, std::string_view value,
                            std::initializer_list<size_t> sizes) {
  const bool sized = std::any_of(sizes.begin(), sizes.end(),
                                 [&](size_t size) { return value.size() == 2 * size; });
  if (sized && IsHex(value)) return;
  std::string wanted;
  for (size_t size : sizes) absl::StrAppend(&wanted, wanted.empty() ? "" : " or ", 2 * size);
  Report(path, IsHex(value)
                   ? absl::StrCat("has ", value.size(), " hexadecimal digits, expected ", wanted)
                   : absl::StrCat("is not hexadecimal, expected ", wanted, " digits"));
}

void FieldChecker::Name(const Path& path, const std::string& name) {
  if (name.empty() || name.size() > kMaxPolicyNameSize) {
    Report(path, "has to be of 1 to 64 characters");
  }
}

void FieldChecker::Exclusive(const Path& at, const char* any, bool set, const char* list,
                             int size) {
  if (set && size > 0) {
    Report(With(at, any, -1), absl::StrCat("is set, but ", list, " says otherwise: keep one"));
  }
}

void LowerAll(FieldChecker::Strings* values) {
  for (std::string& value : *values) absl::AsciiStrToLower(&value);
}

}  // namespace caravan::attestation
