// SPDX-License-Identifier: Apache-2.0
#include "collective/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::collective {
namespace {

using testing::HasSubstr;

TEST(ExplainChoice, ShowsTheChoiceItsReasonAndTheAlternatives) {
  OperationSpec spec;
  spec.count = 1 << 20;
  const auto choice = Compare(spec, 0, 4, DefaultSelectorTable(), Rates{});
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_EQ(choice->plans.size(), 4u);
  EXPECT_EQ(choice->plans[0]->spec.algorithm, Algorithm::kDirect);
  const std::string text = ExplainChoice(*choice);
  EXPECT_THAT(text, HasSubstr("direct: row 3 of the table (any size, up to 8 ranks); 2 rounds and "
                              "crypto depth 2 against 6 rounds and crypto depth 4 for "
                              "ring-forward, 6 rounds and crypto depth 6 for ring, 1 round and "
                              "crypto depth 1 for one-shot\n"));
  EXPECT_THAT(text, HasSubstr("* direct                4194304        6291456"));
  EXPECT_THAT(text, HasSubstr("  ring                  6291456        6291456"));
  EXPECT_THAT(text, HasSubstr("allreduce(f32 × 1048576, sum) on rank 0 of 4 by direct"));
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
