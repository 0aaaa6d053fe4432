// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <simdjson.h>

#include <optional>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"

namespace caravan::base {
namespace {

constexpr size_t kMostShown = 64;  // bytes of a name in a message

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

absl::Status Malformed(simdjson::error_code code) {
  return absl::InvalidArgumentError(absl::StrCat("json: ", simdjson::error_message(code)));
}

// simdjson has checked the depth.
absl::StatusOr<JsonValue> Convert(const dom::element& element) {
  JsonValue out;
  switch (element.type()) {
    case dom::element_type::BOOL:
      out.value = bool{element.get_bool().value_unsafe()};
      return out;
    case dom::element_type::INT64:
      out.value = int64_t{element.get_int64().value_unsafe()};
      return out;
    case dom::element_type::STRING:
      out.value = std::string(element.get_string().value_unsafe());
      return out;
    case dom::element_type::ARRAY: {
      JsonValue::Array array;
      const dom::array items = element.get_array().value_unsafe();
      for (const dom::element item : items) {
        absl::StatusOr<JsonValue> value = Convert(item);
        if (!value.ok()) return value;
        array.push_back(*std::move(value));
      }
      out.value = std::move(array);
      return out;
    }
    case dom::element_type::OBJECT: {
      JsonValue::Object object;
      std::set<std::string_view> names;
      const dom::object members = element.get_object().value_unsafe();
      for (const dom::key_value_pair member : members) {
        if (!names.insert(member.key).second) {
          return absl::InvalidArgumentError(absl::StrCat(
              "json: \"", absl::CHexEscape(std::string(member.key.substr(0, kMostShown))),
              "\" stands twice in an object"));
        }
        absl::StatusOr<JsonValue> value = Convert(member.value);
        if (!value.ok()) return value;
        object.push_back({std::string(member.key), *std::move(value)});
      }
      out.value = std::move(object);
      return out;
    }
    default:
      return out;
  }
}

std::string_view TrimEnd(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  const auto* object = std::get_if<Object>(&value);
  if (object == nullptr) return nullptr;
  for (const auto& [key, member] : *object) {
    if (key == name) return &member;
  }
  return nullptr;
}

absl::StatusOr<JsonValue> ParseJson(std::string_view text) {
  if (text.empty() || text.size() > kMaxJsonSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("json: ", text.size(), " bytes, expected 1 to ", kMaxJsonSize));
  }
  dom::parser parser(kMaxJsonSize);
  if (auto code = parser.allocate(text.size(), kMaxJsonDepth)) return Malformed(code);
  dom::element root;
  // A padded copy: simdjson reads past the end of what it parses.
  const simdjson::padded_string padded(text);
  if (auto code = parser.parse(padded).get(root)) return Malformed(code);
  return Convert(root);
}

absl::StatusOr<std::string> RawMember(std::string_view text, std::string_view name) {
  // The on-demand parser skips over what it is not asked for: the whole is validated first.
  absl::StatusOr<JsonValue> whole = ParseJson(text);
  if (!whole.ok()) return whole.status();
  if (!std::holds_alternative<JsonValue::Object>(whole->value)) {
    return absl::InvalidArgumentError("json: not an object");
  }
  ondemand::parser parser;
  const simdjson::padded_string padded(text);
  ondemand::document document;
  if (auto code = parser.iterate(padded).get(document)) return Malformed(code);
  ondemand::object object;
  if (auto code = document.get_object().get(object)) return Malformed(code);
  for (auto member : object) {
    std::string_view key;
    if (auto code = member.unescaped_key().get(key)) return Malformed(code);
    if (key != name) continue;
    ondemand::object value;
    if (auto code = member.value().get_object().get(value)) return Malformed(code);
    std::string_view raw;
    if (auto code = value.raw_json().get(raw)) return Malformed(code);
    // What follows up to the next token comes along.
    return std::string(TrimEnd(raw));
  }
  return absl::NotFoundError(absl::StrCat("json: no member \"", std::string(name), "\""));
}

std::string JsonReader::Path(std::string_view name) const {
  return absl::StrCat(where_, where_.empty() ? "" : ".", std::string(name));
}

void JsonReader::Fail(std::string_view name, std::string_view problem) {
  if (!status_->ok()) return;
  *status_ = absl::InvalidArgumentError(absl::StrCat(Path(name), ": ", std::string(problem)));
}

bool JsonReader::Has(std::string_view name) const {
  return object_ != nullptr && object_->Find(name) != nullptr;
}

template <typename T>
const T* JsonReader::Get(std::string_view name, std::string_view expected) {
  if (!status_->ok()) return nullptr;
  const JsonValue* member = object_ == nullptr ? nullptr : object_->Find(name);
  const T* value = member == nullptr ? nullptr : std::get_if<T>(&member->value);
  if (value == nullptr) {
    Fail(name, absl::StrCat(member == nullptr ? "is missing" : "has another type", ", expected ",
                            std::string(expected)));
  }
  return value;
}

uint64_t JsonReader::Integer(std::string_view name, uint64_t max) {
  const auto* value = Get<int64_t>(name, "an integer");
  if (value == nullptr) return 0;
  if (*value < 0 || static_cast<uint64_t>(*value) > max) {
    Fail(name, absl::StrCat("is ", *value, ", expected 0 to ", max));
    return 0;
  }
  return static_cast<uint64_t>(*value);
}

bool JsonReader::Boolean(std::string_view name) {
  const auto* value = Get<bool>(name, "true or false");
  return value != nullptr && *value;
}

std::string JsonReader::Text(std::string_view name) {
  const auto* value = Get<std::string>(name, "a string");
  return value == nullptr ? "" : *value;
}

std::string JsonReader::Hex(std::string_view name, size_t size) {
  const auto* value = Get<std::string>(name, "a string");
  if (value == nullptr) return "";
  std::optional<std::string> bytes = FromHex(*value);
  if (!bytes.has_value() || bytes->size() != size) {
    Fail(name, absl::StrCat("is not ", 2 * size, " hexadecimal digits"));
    return "";
  }
  return *std::move(bytes);
}

absl::Time JsonReader::Time(std::string_view name) {
  const auto* value = Get<std::string>(name, "a string");
  absl::Time time = absl::UnixEpoch();
  if (value == nullptr) return time;
  std::string error;
  // Intel writes whole seconds in UTC; another form would be another reading of the same text.
  const bool form = value->size() == 20 && value->back() == 'Z';
  if (!form || !absl::ParseTime(absl::RFC3339_sec, *value, &time, &error)) {
    Fail(name, "is no time such as 2026-01-02T03:04:05Z");
    return absl::UnixEpoch();
  }
  return time;
}

JsonReader JsonReader::Object(std::string_view name) {
  const bool found = Get<JsonValue::Object>(name, "an object") != nullptr;
  return JsonReader(found ? object_->Find(name) : nullptr, Path(name), status_);
}

std::vector<JsonReader> JsonReader::Objects(std::string_view name, size_t max) {
  std::vector<JsonReader> readers;
  const auto* array = Get<JsonValue::Array>(name, "an array");
  if (array == nullptr) return readers;
  if (array->size() > max) {
    Fail(name, absl::StrCat("has ", array->size(), " entries, at most ", max));
    return readers;
  }
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string path = absl::StrCat(std::string(name), "[", i, "]");
    if (!std::holds_alternative<JsonValue::Object>((*array)[i].value)) {
      Fail(path, "is no object");
      return {};
    }
    readers.emplace_back(&(*array)[i], Path(path), status_);
  }
  return readers;
}

std::vector<std::string> JsonReader::Texts(std::string_view name, size_t max) {
  std::vector<std::string> texts;
  const auto* array = Get<JsonValue::Array>(name, "an array");
  if (array == nullptr) return texts;
  if (array->size() > max) {
    Fail(name, absl::StrCat("has ", array->size(), " entries, at most ", max));
    return texts;
  }
  for (const JsonValue& item : *array) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) {
      Fail(name, "holds something other than strings");
      return {};
    }
    texts.push_back(*text);
  }
  return texts;
}

}  // namespace caravan::base
