// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/cost/selector.h"

namespace caravan::collective {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(ExplainChoice, ShowsTheChoiceItsReasonAndTheAlternatives) {
  OperationSpec spec;
  spec.count = 1 << 20;
  const SelectorTable table = {{Operation::kAllReduce, UINT64_MAX, 8, Algorithm::kDirect}};
  const auto choice = Compare(spec, 0, 4, table, Rates{});
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_EQ(choice->plans.size(), 4u);
  EXPECT_EQ(choice->plans[0]->spec.algorithm, Algorithm::kDirect);
  const std::string text = ExplainChoice(*choice);
  EXPECT_THAT(text, HasSubstr("direct: row 0 of the table (any size, up to 8 ranks); 2 rounds and "
                              "crypto depth 2 against 6 rounds and crypto depth 4 for "
                              "ring-forward, 6 rounds and crypto depth 6 for ring, 1 round and "
                              "crypto depth 1 for one-shot\n"));
  EXPECT_THAT(text, ContainsRegex("\\* direct +[0-9.]+ µs +4194304 +6291456"));
  EXPECT_THAT(text, ContainsRegex("  ring +[0-9.]+ µs +6291456 +6291456"));
  EXPECT_THAT(text, HasSubstr("allreduce(f32 × 1048576, sum) on rank 0 of 4 by direct"));
}

TEST(ExplainChoice, ShowsRatesAndWhatTheyPredict) {
  OperationSpec spec;
  spec.count = 1 << 20;
  Rates rates;
  rates.latency_ns = 123456;
  const auto choice = Compare(spec, 0, 4, {}, rates);
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_EQ(choice->prices.size(), choice->plans.size());
  for (size_t i = 0; i < choice->plans.size(); ++i) {
    EXPECT_EQ(choice->prices[i].total_ns,
              PriceOf(spec.op, choice->plans[i]->spec.algorithm, 4 << 20, 4, rates).total_ns);
  }
  const std::string text = ExplainChoice(*choice);
  EXPECT_THAT(text, ContainsRegex("latency_ns +123456  one way"));
  EXPECT_THAT(text, ContainsRegex("predicted [0-9.]+ µs: the first record's way [0-9.]+ µs"));
  rates.cores = 0;
  EXPECT_EQ(Compare(spec, 0, 4, {}, rates).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExplainChoice, RefusesWhatNoPlanCanDo) {
  OperationSpec spec;
  spec.algorithm = Algorithm::kChainForward;
  EXPECT_EQ(Compare(spec, 0, 4, DefaultSelectorTable(), Rates{}).status().code(),
            absl::StatusCode::kUnimplemented);
  spec.algorithm = Algorithm::kAuto;
  EXPECT_EQ(Compare(spec, 4, 4, DefaultSelectorTable(), Rates{}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace caravan::collective
