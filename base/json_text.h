// SPDX-License-Identifier: Apache-2.0
//
// Text inside JSON (RFC 8259, section 7).
#ifndef CARAVAN_BASE_JSON_TEXT_H_
#define CARAVAN_BASE_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace caravan::base {

// The text in quotation marks, everything escaped that has to be, and DEL; bytes that are not
// UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_JSON_TEXT_H_
