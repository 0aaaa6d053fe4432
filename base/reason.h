// SPDX-License-Identifier: Apache-2.0
//
// Why something was refused: a stable upper-case word that ends the error message in brackets
// ("nonce of another handshake [EVIDENCE_NONCE]") and stands in alerts, audit records and tests.
//
//   return base::Refusal(absl::StatusCode::kAborted, base::Known("REPLACED"), "ask again");
//   if (base::ReasonOf(status) == base::Known("REPLACED")) …
//
// A status carries its word as a payload, so nothing within a process searches text for it. An
// appraisal's check ids ("SNP_MEASUREMENT") are words as well, used as they are: that set is open,
// and the table below holds Caravan's own.
#ifndef CARAVAN_BASE_REASON_H_
#define CARAVAN_BASE_REASON_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/reason_table.h"

namespace caravan::base {

// Longest word, in bytes; words are of [A-Z0-9_].
inline constexpr size_t kMaxReasonSize = 64;

bool IsReason(absl::string_view word);

// The row's word. A word that is not in the table does not compile.
consteval absl::string_view Known(absl::string_view word) {
  for (const ReasonRow& row : kReasonTable) {
    if (row.word == word) return row.word;
  }
  throw "the word is not in kReasonTable";
}

absl::Span<const ReasonRow> ReasonTable();

// A status that carries `reason` and whose message is `text` and then the reason in brackets. What
// is no word by IsReason() stands in the message alone.
absl::Status Refusal(absl::StatusCode code, absl::string_view reason, absl::string_view text);

// The word that the status carries, or "" when it carries none.
std::string ReasonOf(const absl::Status& status);

// For statuses that another process wrote and only their text arrived: the same status, carrying
// the word at the end of its message, if there is one.
absl::Status WithReasonOfText(absl::Status status);

// The message without the bracketed word at its end and the space before it: where a longer
// explanation belongs. All of the message when it ends in no word.
absl::string_view TextBeforeReason(absl::string_view message);

// A status of the same code and word whose message begins with "prefix: ".
absl::Status Annotate(absl::string_view prefix, const absl::Status& status);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_REASON_H_
