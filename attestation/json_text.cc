// SPDX-License-Identifier: Apache-2.0
#include "attestation/json_text.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace caravan::attestation {

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  uint32_t value = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    value = value << 6 | (next & 0x3f);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return overlong || surrogate || value > 0x10ffff ? 0 : length;
}

void AppendJsonString(absl::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      *out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += text[0];
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(out, "\\u%04x", c);
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length);
  }
  *out += '"';
}

}  // namespace caravan::attestation
