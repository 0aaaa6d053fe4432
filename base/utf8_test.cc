// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include "gtest/gtest.h"

namespace caravan::base {
namespace {

TEST(Utf8, TakesEveryLengthOfCharacter) {
  for (const char* text : {"", "train", "z\xC3\xBCg", "\xE2\x80\xA6", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(FindBadUtf8(text), absl::string_view::npos) << text;
    EXPECT_EQ(ReplaceBadUtf8(text), text);
  }
}

TEST(Utf8, NamesTheFirstByteThatIsNone) {
  struct {
    const char* text;
    const char* replaced;
  } cases[] = {
      {"ab\xFF", "ab?"},                 // never a byte of UTF-8
      {"ab\x80z", "ab?z"},               // a second byte without a first
      {"ab\xC3", "ab?"},                 // cut short
      {"ab\xE2\x80", "ab??"},            // cut short
      {"ab\xC0\xAF", "ab??"},            // overlong
      {"ab\xE0\x80\xAF", "ab???"},       // overlong
      {"ab\xF0\x80\x80\xAF", "ab????"},  // overlong
      {"ab\xED\xA0\x80", "ab???"},       // a surrogate
      {"ab\xF4\x90\x80\x80", "ab????"},  // above U+10FFFF
      {"ab\xF5\x80\x80\x80", "ab????"},  // above U+10FFFF
      {"ab\xE2\x28\xA1", "ab?(?"},       // broken in the middle
  };
  for (const auto& c : cases) {
    EXPECT_EQ(FindBadUtf8(c.text), 2u) << c.replaced;
    EXPECT_EQ(ReplaceBadUtf8(c.text), c.replaced);
  }
}

}  // namespace
}  // namespace caravan::base
