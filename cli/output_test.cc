// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/utf8.h"
#include "cli/json.h"
#include "cli/text.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace caravan::cli {
namespace {

std::string Quoted(absl::string_view text) {
  JsonWriter json;
  json.Value(text);
  return std::move(json).Take();
}

TEST(Json, NestsAndSeparates) {
  JsonWriter json;
  json.BeginObject().Member("a", 1).Key("b").BeginArray().Value(true).Value("x").EndArray();
  json.Key("c").BeginObject().EndObject().EndObject();
  EXPECT_EQ(std::move(json).Take(),
            "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    \"x\"\n  ],\n  \"c\": {}\n}\n");
}

TEST(Json, EscapesWhatCannotStandInAString) {
  EXPECT_EQ(Quoted("a\"b\\c\n\t\x01\x7f é"), "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f é\"\n");
  EXPECT_EQ(Quoted(absl::string_view("\0", 1)), "\"\\u0000\"\n");
}

TEST(Json, IsValidForEveryPairOfBytes) {
  simdjson::dom::parser parser;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_EQ(parser.parse(Quoted(text)).error(), simdjson::SUCCESS) << a << " " << b;
    }
  }
}

TEST(Text, KnowsUtf8) {
  EXPECT_EQ(base::Utf8Length("a"), 1);
  EXPECT_EQ(base::Utf8Length("é"), 2);
  EXPECT_EQ(base::Utf8Length("…"), 3);
  EXPECT_EQ(base::Utf8Length("\xf0\x9f\x90\xab"), 4);
  for (const char* bad : {"", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf0\x9f\x90", "\xff"}) {
    EXPECT_EQ(base::Utf8Length(bad), 0) << bad;
  }
}

TEST(Text, DisarmsControlCharacters) {
  EXPECT_EQ(Printable("a\x1b[31m\r\nb\xc2\x9b"
                      "1m\x7f\xff…"),
            "a?[31m??b?1m??…");
}

TEST(Text, FormatsBytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(~uint64_t{0}), "16.0 EiB");
}

TEST(Text, FormatsAges) {
  EXPECT_EQ(FormatAge(-5), "0s");
  EXPECT_EQ(FormatAge(119'999), "119s");
  EXPECT_EQ(FormatAge(120'000), "2m");
  EXPECT_EQ(FormatAge(7'200'000), "2h");
  EXPECT_EQ(FormatAge(int64_t{3} * 86'400'000), "3d");
}

TEST(Text, ShortensByCharacters) {
  EXPECT_EQ(Shorten("abcd", 4), "abcd");
  EXPECT_EQ(Shorten("abcde", 4), "abcd…");
  EXPECT_EQ(Shorten("éèêë", 2), "éè…");
}

TEST(Table, AlignsByCharacters) {
  Table table({"A", "LONG", "C"});
  EXPECT_TRUE(table.empty());
  table.Add({"é…", "x"});
  table.Add({"1", "2", "3"});
  EXPECT_EQ(table.Render("  "), "  A   LONG  C\n  é…  x\n  1   2     3\n");
}

}  // namespace
}  // namespace caravan::cli
