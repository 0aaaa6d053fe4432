// SPDX-License-Identifier: Apache-2.0
#include "base/reason.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace caravan::base {
namespace {

constexpr absl::string_view kTypeUrl = "type.caravan/reason";

// The word in brackets at the end of the message, or "".
absl::string_view WordAtEnd(absl::string_view message) {
  if (message.empty() || message.back() != ']') return "";
  const size_t open = message.rfind('[');
  if (open == absl::string_view::npos) return "";
  const absl::string_view word = message.substr(open + 1, message.size() - open - 2);
  return IsReason(word) ? word : "";
}

absl::Status Carrying(absl::Status status, absl::string_view reason) {
  if (IsReason(reason)) status.SetPayload(kTypeUrl, absl::Cord(reason));
  return status;
}

}  // namespace

bool IsReason(absl::string_view word) {
  return !word.empty() && word.size() <= kMaxReasonSize &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

absl::Span<const ReasonRow> ReasonTable() { return kReasonTable; }

absl::Status Refusal(absl::StatusCode code, absl::string_view reason, absl::string_view text) {
  return Carrying(absl::Status(code, absl::StrCat(text, " [", reason, "]")), reason);
}

std::string ReasonOf(const absl::Status& status) {
  const auto word = status.GetPayload(kTypeUrl);
  return word.has_value() ? std::string(*word) : "";
}

absl::Status WithReasonOfText(absl::Status status) {
  const std::string word(WordAtEnd(status.message()));
  return Carrying(std::move(status), word);
}

absl::string_view TextBeforeReason(absl::string_view message) {
  const absl::string_view word = WordAtEnd(message);
  if (word.empty()) return message;
  message.remove_suffix(word.size() + 2);
  if (!message.empty() && message.back() == ' ') message.remove_suffix(1);
  return message;
}

absl::Status Annotate(absl::string_view prefix, const absl::Status& status) {
  return Carrying(absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message())),
                  ReasonOf(status));
}

}  // namespace caravan::base
