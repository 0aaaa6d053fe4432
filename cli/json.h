// SPDX-License-Identifier: Apache-2.0
//
// Writes one JSON document.
#ifndef CARAVAN_CLI_JSON_H_
#define CARAVAN_CLI_JSON_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace caravan::cli {

// Two spaces a level, members in the order of the calls. Inside an object every value is preceded
// by Key(); Begin and End calls must match: a mismatch is the caller's bug, not an error.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(absl::string_view key);

  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& Value(absl::string_view text);
  JsonWriter& Value(const char* text) { return Value(absl::string_view(text)); }
  template <std::same_as<bool> T>
  JsonWriter& Value(T value) {
    return Raw(value ? "true" : "false");
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& Value(T value) { return Raw(std::to_string(value)); }
  template <typename T>
  JsonWriter& Member(absl::string_view key, const T& value) {
    return Key(key).Value(value);
  }

  // The document, with a newline at its end.
  std::string Take() && { return std::move(text_) + "\n"; }

 private:
  JsonWriter& Begin(char bracket);
  JsonWriter& End(char bracket);
  JsonWriter& Raw(absl::string_view text);
  void Separate();

  std::string text_;
  std::vector<bool> filled_;  // a level holds an element already
  bool after_key_ = false;
};

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_JSON_H_
