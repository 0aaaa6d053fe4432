// SPDX-License-Identifier: Apache-2.0
//
// Text inside JSON (RFC 8259, section 7).
#ifndef CARAVAN_ATTESTATION_JSON_TEXT_H_
#define CARAVAN_ATTESTATION_JSON_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace caravan::attestation {

// Bytes of the UTF-8 character that `text` begins with; 0 when it begins with none. Overlong
// forms, surrogates and values over U+10FFFF are none (RFC 3629).
size_t Utf8Length(absl::string_view text);

// The text in quotation marks, everything escaped that has to be, and DEL; bytes that are not
// UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_JSON_TEXT_H_
