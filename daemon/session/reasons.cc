// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/reasons.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::session {

bool IsReason(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxReasonSize &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

absl::Status Refusal(absl::StatusCode code, absl::string_view reason, absl::string_view text) {
  return absl::Status(code, absl::StrCat(text, " [", reason, "]"));
}

std::string ReasonOf(const absl::Status& status) {
  const absl::string_view message = status.message();
  if (message.empty() || message.back() != ']') return "";
  const size_t open = message.rfind('[');
  if (open == absl::string_view::npos) return "";
  const absl::string_view name = message.substr(open + 1, message.size() - open - 2);
  return IsReason(name) ? std::string(name) : "";
}

}  // namespace caravan::session
