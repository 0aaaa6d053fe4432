// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

void AppendQuoted(absl::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      absl::StrAppend(&out, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (filled_.empty()) return;
  absl::StrAppend(&text_, filled_.back() ? ",\n" : "\n", std::string(2 * filled_.size(), ' '));
  filled_.back() = true;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  Separate();
  AppendQuoted(key, text_);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Value(absl::string_view text) {
  Separate();
  AppendQuoted(text, text_);
  return *this;
}

JsonWriter& JsonWriter::Raw(absl::string_view text) {
  Separate();
  absl::StrAppend(&text_, text);
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled) absl::StrAppend(&text_, "\n", std::string(2 * filled_.size(), ' '));
  text_ += bracket;
  return *this;
}

}  // namespace caravan::cli
