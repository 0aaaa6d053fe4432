// SPDX-License-Identifier: Apache-2.0
//
// Hexadecimal text, lower case.
#ifndef CARAVAN_BASE_HEX_H_
#define CARAVAN_BASE_HEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/types/span.h"

namespace caravan::base {

inline std::string ToHex(absl::Span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

inline std::string ToHex(std::string_view bytes) {
  return ToHex(
      absl::Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

// Either case; nullopt when a character is no digit or one is left over.
inline std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  const auto value = [](unsigned char c) -> int {
    if (!absl::ascii_isxdigit(c)) return -1;
    return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
  };
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = value(static_cast<unsigned char>(text[i]));
    const int low = value(static_cast<unsigned char>(text[i + 1]));
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

}  // namespace caravan::base

#endif  // CARAVAN_BASE_HEX_H_
