// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "gtest/gtest.h"

namespace caravan::base {
namespace {

TEST(Log, WritesOneLineOfKeysAndValues) {
  absl::Time when = absl::FromUnixMillis(1769853600123);
  EXPECT_EQ(FormatLogLine(when, Level::kInfo, "ready", {{"control", "10.0.0.1:7400"}, {"n", 3}}),
            "2026-01-31T10:00:00.123Z info ready control=10.0.0.1:7400 n=3");
}

TEST(Log, QuotesWhatCouldForgeALine) {
  absl::Time when = absl::FromUnixMillis(0);
  std::string line = FormatLogLine(when, Level::kWarning, "refused",
                                   {{"reason", "bad\n1970 info ready x=\"1\""}, {"empty", ""}});
  EXPECT_EQ(line,
            "1970-01-01T00:00:00.000Z warning refused "
            "reason=\"bad\\n1970 info ready x=\\\"1\\\"\" empty=\"\"");
}

TEST(Log, CutsLongValues) {
  std::string line =
      FormatLogLine(absl::UnixEpoch(), Level::kError, "e", {{"v", std::string(5000, 'x')}});
  EXPECT_LT(line.size(), 1100u);
}

}  // namespace
}  // namespace caravan::base
