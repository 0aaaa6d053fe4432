// SPDX-License-Identifier: Apache-2.0
#include "bench/algorithms.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::bench {
namespace {

using testing::HasSubstr;

TEST(JudgeChoice, ComparesMediansOfTheSameRound) {
  // Two rounds of three; the second on a machine half as fast.
  const auto choice = JudgeChoice(
      {"auto", "direct", "ring"},
      {{12, 12, 99, 24, 24, 1}, {20, 20, 20, 40, 40, 40}, {10, 10, 10, 20, 20, 20}}, 2, "direct");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->best, "ring");
  EXPECT_NEAR(choice->auto_ratio, 1.2, 1e-9);
  EXPECT_NEAR(choice->ratio, 2, 1e-9);
  EXPECT_NEAR(choice->best_us, 15e6, 1e-3);
}

TEST(JudgeChoice, TakesNoDifferenceThatDoesNotComeAgain) {
  // Faster in turns: neither is better than the other.
  for (const char* chosen : {"direct", "ring"}) {
    const auto choice = JudgeChoice({"auto", "direct", "ring"},
                                    {{9, 9, 9, 9}, {10, 12, 10, 12}, {12, 10, 12, 10}}, 4, chosen);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_LE(choice->ratio, 1.1);
    EXPECT_NEAR(choice->auto_ratio, 0.75, 1e-9);
  }
  // In every round: worse.
  const auto choice = JudgeChoice({"auto", "direct", "ring"},
                                  {{9, 9, 9, 9}, {12, 12, 12, 12}, {10, 10, 10, 10}}, 4, "direct");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_NEAR(choice->ratio, 1.2, 1e-9);
}

TEST(JudgeChoice, RefusesWhatDoesNotFitTogether) {
  EXPECT_FALSE(JudgeChoice({"auto"}, {{1}}, 1, "auto").ok());
  EXPECT_FALSE(JudgeChoice({"auto", "ring"}, {{1}}, 1, "ring").ok());
  EXPECT_FALSE(JudgeChoice({"auto", "ring"}, {{1, 2}, {1}}, 1, "ring").ok());
  EXPECT_FALSE(JudgeChoice({"auto", "ring"}, {{1, 2, 3}, {1, 2, 3}}, 2, "ring").ok());
  EXPECT_FALSE(JudgeChoice({"auto", "ring"}, {{}, {}}, 1, "ring").ok());
  EXPECT_FALSE(JudgeChoice({"auto", "ring"}, {{1}, {1}}, 1, "direct").ok());
}

TEST(Choice, IsALineAndBack) {
  const Choice choice = {"all_reduce", 4, 65536, "one-shot", "direct", 1.25, 1.5, 312.5};
  const auto parsed = ParseChoice(FormatChoice(choice));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(FormatChoice(*parsed), FormatChoice(choice));
  EXPECT_EQ(parsed->ranks, 4);
  EXPECT_EQ(parsed->best, "direct");
  EXPECT_FALSE(ParseChoice("# choice all_reduce").ok());
  EXPECT_FALSE(ParseChoice("").ok());
}

TEST(SummarizeChoices, NamesTheWorst) {
  const std::string text =
      SummarizeChoices({{"all_reduce", 2, 1024, "ring", "ring", 1.05, 1, 10},
                        {"broadcast", 4, 4096, "ring", "ring", 1.3, 1.01, 10}});
  EXPECT_THAT(text, HasSubstr("worst 1.30 (broadcast, 4 ranks, 4096 bytes), 1 of 2 above 1.10"));
  EXPECT_THAT(text, HasSubstr("worst 1.01 (broadcast, 4 ranks, 4096 bytes), 0 of 2 above 1.10"));
  EXPECT_THAT(SummarizeChoices({}), HasSubstr("nothing"));
}

}  // namespace
}  // namespace caravan::bench
