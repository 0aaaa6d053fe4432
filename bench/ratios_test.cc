// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

#include <gtest/gtest.h>

namespace caravan::bench {
namespace {

Row Time(uint64_t bytes, double p50) {
  Row row;
  row.bytes = bytes;
  row.ranks = 2;
  row.p50 = p50;
  return row;
}

TEST(Ratios, AreMediansOfRounds) {
  Measurements measurements;
  // A slow second round falls on both and cancels out.
  const double ours[] = {10, 100, 10};
  const double theirs[] = {20, 200, 40};
  for (int round = 0; round < 3; ++round) {
    measurements.Add(Contender::kSecure, round, Time(1024, ours[round]));
    measurements.Add(Contender::kGloo, round, Time(1024, theirs[round]));
  }
  const std::vector<Ratio> ratios = measurements.SecureOver(Contender::kGloo);
  ASSERT_EQ(ratios.size(), 1u);
  EXPECT_DOUBLE_EQ(ratios[0].median, 2);
  EXPECT_EQ(ratios[0].samples, 3);
  EXPECT_EQ(ratios[0].ranks, 2);
  EXPECT_DOUBLE_EQ(measurements.Times(Contender::kSecure)[0].median, 10);
}

TEST(Ratios, LeaveOutRoundsThatLackOne) {
  Measurements measurements;
  measurements.Add(Contender::kSecure, 0, Time(1024, 1));
  measurements.Add(Contender::kTls, 1, Time(1024, 1));
  EXPECT_TRUE(measurements.SecureOver(Contender::kTls).empty());
  EXPECT_TRUE(measurements.SecureOver(Contender::kGloo).empty());
  EXPECT_EQ(ToJson(std::vector<Ratio>{}), "[\n  ]");
}

TEST(Ratios, AreWrittenAsJson) {
  EXPECT_EQ(ToJson(std::vector<Ratio>{{1024, 2, 1.5, 3}}),
            "[\n    {\"size\": 1024, \"ranks\": 2, \"median\": 1.5000, \"samples\": 3}\n  ]");
}

}  // namespace
}  // namespace caravan::bench
