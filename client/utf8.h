// SPDX-License-Identifier: Apache-2.0
//
// Text for the daemon is UTF-8: a message that holds other bytes could not be read there. Pure.
#ifndef CARAVAN_CLIENT_UTF8_H_
#define CARAVAN_CLIENT_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace caravan::client {

// Where the first byte stands that begins no character, or npos. Overlong forms, surrogates and
// what lies above U+10FFFF are no characters (RFC 3629).
size_t FindBadUtf8(absl::string_view text);

// `text` with '?' for every such byte.
std::string ReplaceBadUtf8(absl::string_view text);

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_UTF8_H_
