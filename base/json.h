// SPDX-License-Identifier: Apache-2.0
//
// JSON that may be signed: simdjson's parse within limits, no name twice in an object, whole
// numbers alone, and the exact bytes of the part that a signature covers.
#ifndef CARAVAN_BASE_JSON_H_
#define CARAVAN_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::base {

inline constexpr size_t kMaxJsonSize = 1 << 20;  // bytes
inline constexpr size_t kMaxJsonDepth = 16;

class JsonValue {
 public:
  struct Member;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;
  struct Other {};  // null, or a number that is no 64-bit integer

  std::variant<Other, bool, int64_t, std::string, Array, Object> value;

  // Null when this is no object or has no such member.
  const JsonValue* Find(std::string_view name) const;
};

struct JsonValue::Member {
  std::string name;
  JsonValue value;
};

// InvalidArgument on malformed JSON, trailing text, an object with one name twice, and input over
// the limits above.
absl::StatusOr<JsonValue> ParseJson(std::string_view text);

// The bytes of the member `name` of the object `text`, from its first to its last: what a signature
// over that member covers. NotFound when there is none; InvalidArgument as ParseJson.
absl::StatusOr<std::string> RawMember(std::string_view text, std::string_view name);

// Reads members of one object. The first failure stays in `status`, "tcbInfo.fmspc: …"; reads after
// it return empty values, so that a caller checks once.
class JsonReader {
 public:
  JsonReader(const JsonValue* object, std::string where, absl::Status* status)
      : object_(object), where_(std::move(where)), status_(status) {}

  bool Has(std::string_view name) const;
  uint64_t Integer(std::string_view name, uint64_t max);
  bool Boolean(std::string_view name);
  std::string Text(std::string_view name);
  std::string Hex(std::string_view name, size_t size);  // `size` bytes, from hexadecimal
  absl::Time Time(std::string_view name);               // RFC 3339, in UTC
  JsonReader Object(std::string_view name);
  std::vector<JsonReader> Objects(std::string_view name, size_t max);
  std::vector<std::string> Texts(std::string_view name, size_t max);

  void Fail(std::string_view name, std::string_view problem);

 private:
  template <typename T>
  const T* Get(std::string_view name, std::string_view expected);
  std::string Path(std::string_view name) const;

  const JsonValue* object_;
  std::string where_;
  absl::Status* status_;
};

}  // namespace caravan::base

#endif  // CARAVAN_BASE_JSON_H_
