// SPDX-License-Identifier: Apache-2.0
#include "attester/machine.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

using testing::HasSubstr;

class Machine : public testing::Test {
 protected:
  MachinePaths paths_ = {"/nonexistent/tsm", "/nonexistent/sev-guest", "/nonexistent/tdx_guest"};
};

TEST_F(Machine, WithoutSevSnpNamesBothWaysThatAreMissing) {
  const AttesterOr attester = MakeSevSnpAttester(paths_, std::nullopt);
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  const std::string message(attester.status().message());
  EXPECT_THAT(message, HasSubstr("no way to SEV-SNP's firmware"));
  EXPECT_THAT(message, HasSubstr("/nonexistent/tsm: is not there"));
  EXPECT_THAT(message, HasSubstr("/nonexistent/sev-guest: is not there"));
}

TEST_F(Machine, WithoutTdxNamesBothWaysThatAreMissing) {
  const AttesterOr attester = MakeTdxAttester(paths_, kQuoteServicePort);
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  const std::string message(attester.status().message());
  EXPECT_THAT(message, HasSubstr("no way to the TDX module"));
  EXPECT_THAT(message, HasSubstr("/nonexistent/tsm: is not there"));
  EXPECT_THAT(message, HasSubstr("/nonexistent/tdx_guest: is not there"));
}

// Access is what the machine's owner can give; the rest is not there.
TEST(NoWayOfTwo, IsPermissionDeniedWhereEitherIs) {
  const absl::Status denied = absl::PermissionDeniedError("a: not permitted");
  const absl::Status absent = absl::NotFoundError("b: is not there");
  EXPECT_EQ(NoWay("the TDX module", denied, absent),
            absl::PermissionDeniedError(
                "no way to the TDX module: a: not permitted; and b: is not there"));
  EXPECT_EQ(NoWay("the TDX module", absent, denied).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(NoWay("the TDX module", absl::UnavailableError("busy"), absent).code(),
            absl::StatusCode::kNotFound);
}

// Any character device opens; that it is another one shows when it is asked.
TEST_F(Machine, TakesTheDeviceWhereThereIsNoConfigfs) {
  paths_.sev_guest = paths_.tdx_guest = "/dev/null";
  AttesterOr snp = MakeSevSnpAttester(paths_, 1);
  ASSERT_TRUE(snp.ok()) << snp.status();
  EXPECT_EQ((*snp)->Describe(), "sev-snp");
  EXPECT_EQ((*snp)->Collect({}).status().code(), absl::StatusCode::kFailedPrecondition);
  AttesterOr tdx = MakeTdxAttester(paths_, kQuoteServicePort);
  ASSERT_TRUE(tdx.ok()) << tdx.status();
  EXPECT_EQ((*tdx)->Describe(), "tdx");
  EXPECT_EQ((*tdx)->Collect({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace caravan::attester
