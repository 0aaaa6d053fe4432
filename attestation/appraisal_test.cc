// SPDX-License-Identifier: Apache-2.0
#include "attestation/appraisal.h"

#include "attestation/check_list.h"
#include "base/reason.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

TEST(Appraisal, WithoutAnyCheckIsNoVerdict) {
  Appraisal appraisal;
  CheckList(&appraisal).Conclude();
  EXPECT_EQ(appraisal.verdict, Verdict::kNone);
  EXPECT_FALSE(appraisal.ToStatus().ok());
}

TEST(Appraisal, AffirmsWhenAllPassOrPolicySkips) {
  Appraisal appraisal;
  CheckList checks(&appraisal);
  checks.Pass("A", "a");
  checks.Skip("B", "b", "the policy allows it");
  checks.Conclude();
  EXPECT_EQ(appraisal.verdict, Verdict::kAffirming);
  EXPECT_TRUE(appraisal.ToStatus().ok());
}

TEST(Appraisal, WarnsWhenCappedOrWarned) {
  Appraisal capped, warned;
  CheckList first(&capped), second(&warned);
  first.Pass("A", "a");
  first.CapAtWarning();
  first.Conclude();
  second.Warn("A", "a", "odd");
  second.Conclude();
  EXPECT_EQ(capped.verdict, Verdict::kWarning);
  EXPECT_EQ(warned.verdict, Verdict::kWarning);
  EXPECT_TRUE(capped.accepted());
}

TEST(Appraisal, NamesTheFailureBeforeWhatIsMissing) {
  Appraisal appraisal;
  CheckList checks(&appraisal);
  checks.Missing("M", "there is a list", "no list at hand");
  checks.Fail("F", "debug is off", "debug is on");
  checks.Conclude();
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.ToStatus(),
            base::Refusal(absl::StatusCode::kPermissionDenied, "F", "debug is on"));
}

TEST(Appraisal, TellsMissingFromFailed) {
  Appraisal appraisal;
  CheckList checks(&appraisal);
  checks.Pass("P", "p");
  checks.Missing("M", "there is a list", "no list at hand");
  checks.Conclude();
  EXPECT_EQ(appraisal.verdict, Verdict::kNone);
  EXPECT_EQ(appraisal.ToStatus(),
            base::Refusal(absl::StatusCode::kFailedPrecondition, "M", "no list at hand"));
}

TEST(Appraisal, NamesEveryWord) {
  EXPECT_EQ(Name(Verdict::kContraindicated), "contraindicated");
  EXPECT_EQ(Name(Verdict::kNone), "none");
  EXPECT_EQ(Name(Outcome::kMissing), "missing");
  EXPECT_EQ(Name(Outcome::kSkipped), "skipped");
}

}  // namespace
}  // namespace caravan::attestation
