// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/version.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr size_t kMaxParts = 8;
constexpr size_t kMaxDigits = 6;

using Parts = std::array<uint32_t, kMaxParts>;

std::optional<uint32_t> DigitOf(char c, VersionBase base) {
  const auto byte = static_cast<unsigned char>(c);
  if (absl::ascii_isdigit(byte)) return byte - '0';
  if (base == VersionBase::kDecimal || !absl::ascii_isxdigit(byte)) return std::nullopt;
  return absl::ascii_tolower(byte) - 'a' + 10;
}

absl::StatusOr<Parts> Split(std::string_view text, VersionBase base) {
  const auto malformed = [text] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::CHexEscape(std::string(text)), "\" is no version"));
  };
  Parts parts{};
  size_t part = 0, digits = 0;
  for (char c : text) {
    if (c == '.') {
      if (digits == 0 || ++part >= kMaxParts) return malformed();
      digits = 0;
      continue;
    }
    const std::optional<uint32_t> digit = DigitOf(c, base);
    if (!digit.has_value() || ++digits > kMaxDigits) return malformed();
    parts[part] = parts[part] * static_cast<uint32_t>(base) + *digit;
  }
  if (digits == 0) return malformed();
  return parts;
}

}  // namespace

absl::StatusOr<int> CompareVersions(std::string_view a, std::string_view b, VersionBase base) {
  absl::StatusOr<Parts> left = Split(a, base);
  if (!left.ok()) return left.status();
  absl::StatusOr<Parts> right = Split(b, base);
  if (!right.ok()) return right.status();
  if (*left == *right) return 0;
  return *left < *right ? -1 : 1;
}

}  // namespace caravan::attestation::nvidia
