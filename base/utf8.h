// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 (RFC 3629): overlong forms, surrogates and values over U+10FFFF are no characters.
#ifndef CARAVAN_BASE_UTF8_H_
#define CARAVAN_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace caravan::base {

// Bytes of the character that `text` begins with; 0 when it begins with none.
size_t Utf8Length(absl::string_view text);

// Where the first byte is that begins no character, or npos.
size_t FindBadUtf8(absl::string_view text);

// `text` with '?' for every such byte.
std::string ReplaceBadUtf8(absl::string_view text);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_UTF8_H_
