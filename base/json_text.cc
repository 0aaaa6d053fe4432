// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace caravan::base {

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

}  // namespace caravan::base
