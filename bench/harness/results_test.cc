// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bench/harness/settings.h"
#include "bench/harness/table.h"
#include "bench/harness/values.h"

namespace caravan::bench {
namespace {

absl::StatusOr<Settings> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "perf");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseSettings(static_cast<int>(argv.size()), argv.data(), {{"--engine", "secure"}});
}

TEST(Settings, ReadsSizesByFactorAndByStep) {
  const auto by_factor = Parse({"-b", "1K", "-e", "1M", "-f", "32", "--engine", "both"});
  ASSERT_TRUE(by_factor.ok()) << by_factor.status();
  EXPECT_EQ(by_factor->Sizes(), (std::vector<uint64_t>{1024, 32768, 1048576}));
  EXPECT_EQ(by_factor->extra.at("--engine"), "both");
  const auto by_step = Parse({"-b", "4", "-e", "12", "-i", "4"});
  ASSERT_TRUE(by_step.ok()) << by_step.status();
  EXPECT_EQ(by_step->Sizes(), (std::vector<uint64_t>{4, 8, 12}));
}

TEST(Settings, NamesTheFlagThatIsWrong) {
  const std::vector<std::vector<std::string>> bad = {
      {"-b", "many"}, {"-e", "9999999G"}, {"-f", "1"}, {"-n", "0"},  {"-d", "fp4"},
      {"-o", "xor"},  {"-r", "1000"},     {"-q", "1"}, {"-b", "2M", "-e", "1M"}, {"-n"},
  };
  for (const auto& words : bad) {
    const auto parsed = Parse(words);
    ASSERT_FALSE(parsed.ok()) << words[0];
    EXPECT_NE(parsed.status().message().find(words[0]), std::string::npos) << parsed.status();
  }
}

TEST(Settings, HelpNamesTheExtraFlags) {
  const auto parsed = Parse({"--help"});
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kCancelled);
  EXPECT_NE(parsed.status().message().find("--engine"), std::string::npos);
}

TEST(Rows, SurviveFormattingAndParsing) {
  Row row;
  row.bytes = 1 << 20;
  row.count = 1 << 18;
  row.type = "float";
  row.redop = "sum";
  row.mean = 500e-6;
  row.p50 = 480e-6;
  row.p99 = 700e-6;
  row.bus_factor = 1;
  row.suite = "AES_256_GCM/ipsec-mb";
  row.over_plain = 0.9;
  row.sealed = 1 << 20;
  row.ranks = 2;
  row.samples = 60;
  const auto parsed = ParseRow(FormatRow(row));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatRow(*parsed), FormatRow(row));
  EXPECT_FALSE(ParseRow("# a comment").ok());
}

TEST(Quantile, Interpolates) {
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({1, 2}, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3}, 1), 3);
}

class Values : public testing::TestWithParam<const char*> {};

TEST_P(Values, CountsEachWrongElement) {
  const std::string type = GetParam();
  constexpr uint64_t kCount = 100;
  std::vector<uint8_t> data(kCount * ElementSize(type));
  FillInput(type, "sum", 0, 3, kCount, data.data());
  EXPECT_EQ(CountWrongCopy(type, "sum", 0, 3, kCount, data.data()), 0u);
  EXPECT_EQ(CountWrongReduction(type, "sum", 1, 3, kCount, data.data()), 0u);
  EXPECT_EQ(CountWrongReduction(type, "sum", 2, 3, kCount, data.data()), kCount);
  data[5 * ElementSize(type)] ^= 1;
  EXPECT_EQ(CountWrongCopy(type, "sum", 0, 3, kCount, data.data()), 1u);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Values,
                         testing::Values("half", "bfloat16", "float", "double", "int32", "int64"));

TEST(Values, AreEncodedAsIeeeSays) {
  uint16_t half[2];
  FillInput("half", "sum", 0, 0, 2, reinterpret_cast<uint8_t*>(half));
  EXPECT_EQ(half[0], 0x3C00);  // 1
  EXPECT_EQ(half[1], 0x4000);  // 2
  uint16_t brain[2];
  FillInput("bfloat16", "sum", 0, 0, 2, reinterpret_cast<uint8_t*>(brain));
  EXPECT_EQ(brain[0], 0x3F80);
  EXPECT_EQ(brain[1], 0x4000);
}

TEST(Values, ReductionsMatchByHand) {
  // Element 2 of ranks 0, 1, 2 holds 3, 6, 9.
  const float sum = 18, min = 3, max = 9, avg = 3;
  EXPECT_EQ(CountWrongReduction("float", "sum", 3, 2, 1, reinterpret_cast<const uint8_t*>(&sum)), 0u);
  EXPECT_EQ(CountWrongReduction("float", "min", 3, 2, 1, reinterpret_cast<const uint8_t*>(&min)), 0u);
  EXPECT_EQ(CountWrongReduction("float", "max", 3, 2, 1, reinterpret_cast<const uint8_t*>(&max)), 0u);
  EXPECT_EQ(CountWrongReduction("float", "avg", 3, 2, 1, reinterpret_cast<const uint8_t*>(&avg)), 0u);
  const float prod = 2;  // 1 × 2 × 1
  EXPECT_EQ(CountWrongReduction("float", "prod", 3, 2, 1, reinterpret_cast<const uint8_t*>(&prod)), 0u);
}

}  // namespace
}  // namespace caravan::bench
