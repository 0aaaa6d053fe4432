// SPDX-License-Identifier: Apache-2.0
#include "base/reason.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace caravan::base {
namespace {

using absl::StatusCode;

TEST(Reason, IsCarriedAndRendered) {
  const absl::Status status = Refusal(StatusCode::kAborted, Known("SELF"), "text [OTHER] more");
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_EQ(status.message(), "text [OTHER] more [SELF]");
  EXPECT_EQ(ReasonOf(status), "SELF");
  EXPECT_EQ(ReasonOf(absl::OkStatus()), "");
}

TEST(Reason, IsNotSearchedInText) {
  EXPECT_EQ(ReasonOf(absl::AbortedError("text [SELF]")), "");
  EXPECT_EQ(ReasonOf(Refusal(StatusCode::kAborted, "no word", "text")), "");
}

TEST(Reason, OfAnotherProcessIsReadFromItsTextOnce) {
  const auto reason = [](absl::string_view text) {
    return ReasonOf(WithReasonOfText(absl::AbortedError(text)));
  };
  EXPECT_EQ(reason("[OTHER] text [SNP_MEASUREMENT]"), "SNP_MEASUREMENT");
  for (absl::string_view none :
       {"", "]", "[]", "text", "[SELF] text", "text [self]", "text SELF]"}) {
    EXPECT_EQ(reason(none), "") << none;
  }
  EXPECT_EQ(reason("[" + std::string(kMaxReasonSize, 'A') + "]").size(), kMaxReasonSize);
  EXPECT_EQ(reason("[" + std::string(kMaxReasonSize + 1, 'A') + "]"), "");
  EXPECT_TRUE(WithReasonOfText(absl::OkStatus()).ok());
}

TEST(Reason, OutlivesAnAnnotation) {
  const absl::Status status =
      Annotate("node-a", Refusal(StatusCode::kAborted, Known("LOST"), "gone"));
  EXPECT_EQ(status.message(), "node-a: gone [LOST]");
  EXPECT_EQ(ReasonOf(status), "LOST");
  EXPECT_EQ(ReasonOf(Annotate("node-a", absl::AbortedError("gone"))), "");
}

TEST(Reason, IsCutFromItsText) {
  EXPECT_EQ(TextBeforeReason("a [B] c [LOST]"), "a [B] c");
  EXPECT_EQ(TextBeforeReason("a [b]"), "a [b]");
  EXPECT_EQ(TextBeforeReason("[LOST]"), "");
}

TEST(Reason, TableHasEachWordOnceAndExplainsIt) {
  std::set<absl::string_view> words;
  for (const ReasonRow& row : ReasonTable()) {
    EXPECT_TRUE(IsReason(row.word)) << row.word;
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_EQ(row.meaning.back(), '.') << row.word;
    EXPECT_EQ(row.remedy.back(), '.') << row.word;
  }
}

}  // namespace
}  // namespace caravan::base
