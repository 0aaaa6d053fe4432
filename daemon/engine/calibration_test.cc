// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/calibration.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "crypto/record.h"

namespace caravan::engine {
namespace {

// Makes no cipher.
class NoCiphers : public crypto::RecordCipherFactory {
 public:
  absl::StatusOr<std::unique_ptr<crypto::RecordCipher>> Create(const crypto::SecretBytes&,
                                                               const crypto::EpochId&,
                                                               const crypto::OpKeyId&,
                                                               int) override {
    return absl::ResourceExhaustedError("none left");
  }
  std::string Describe(crypto::Suite) const override { return "none"; }
};

TEST(Calibrate, MeasuresEveryRateOfBothSuitesWithinBounds) {
  const auto ciphers = crypto::SealedRecords();
  const auto calibration = Calibrate(*ciphers);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->rates.size(), 2u);
  for (const auto& [suite, rates] : calibration->rates) {
    EXPECT_TRUE(collective::CheckRates(rates).ok()) << collective::CheckRates(rates);
    // Between an order of magnitude faster than today's fastest and what a sanitizer makes of it.
    EXPECT_GT(rates.seal_ns_per_byte, 0.004);
    EXPECT_LT(rates.seal_ns_per_byte, 500);
    EXPECT_GT(rates.message_ns, 100);
    EXPECT_GT(rates.key_ns, 50);
    EXPECT_GE(rates.cores, 1);
    EXPECT_EQ(rates.ranks_per_node, 1);
    EXPECT_NE(rates.reduce_ns_per_byte, collective::Rates{}.reduce_ns_per_byte);
    EXPECT_NE(rates.copy_ns_per_byte, collective::Rates{}.copy_ns_per_byte);
    EXPECT_NE(rates.wire_ns_per_byte, collective::Rates{}.wire_ns_per_byte);
    EXPECT_NE(rates.latency_ns, collective::Rates{}.latency_ns);
    for (const collective::NamedRate& named : collective::NamedRates()) {
      std::printf("%d %s %g\n", static_cast<int>(suite), named.name, rates.*named.rate);
    }
  }
  std::printf("took %s\n", absl::FormatDuration(calibration->took).c_str());
  EXPECT_LT(calibration->took, absl::Seconds(5));
  EXPECT_EQ(calibration->For(crypto::Suite::kAes256Gcm),
            calibration->rates.at(crypto::Suite::kAes256Gcm));
}

TEST(Calibrate, FailsAsTheCiphersDo) {
  NoCiphers none;
  EXPECT_EQ(Calibrate(none).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Calibration, HasTheDefaultsWhereNothingWasMeasured) {
  EXPECT_EQ(Calibration{}.For(crypto::Suite::kAes256Gcm), collective::Rates{});
}

}  // namespace
}  // namespace caravan::engine
