// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "absl/strings/str_cat.h"
#include "base/json_text.h"

namespace caravan::cli {

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
  base::AppendJsonString(key, &text_);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Value(absl::string_view text) {
  Separate();
  base::AppendJsonString(text, &text_);
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
