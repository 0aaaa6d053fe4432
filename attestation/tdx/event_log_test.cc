// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/event_log.h"

#include <algorithm>
#include <string>

#include "attestation/sev_snp/test_vectors.h"
#include "crypto/hash.h"
#include "gtest/gtest.h"

namespace caravan::attestation::tdx {
namespace {

constexpr size_t kRtmrs = 48 + 328;  // of a version 4 quote

std::string Header() {
  crypto::ByteWriter log;
  log.U32(0).U32(3).Fixed(std::vector<uint8_t>(20)).U32(16);
  log.Fixed(crypto::AsBytes(std::string_view("Spec ID Event03\0", 16)));
  return log.str();
}

std::string Event(uint32_t target, uint32_t type, uint8_t fill, uint16_t algorithm = 0x000C) {
  crypto::ByteWriter log;
  log.U32(target).U32(type).U32(1).U16(algorithm);
  log.Fixed(std::vector<uint8_t>(algorithm == 0x000C ? 48 : 32, fill));
  log.U32(3).Fixed(std::vector<uint8_t>(3, 'e'));
  return log.str();
}

Rtmrs Of(const std::string& log) {
  const auto replay = ReplayEventLog(log);
  EXPECT_TRUE(replay.ok()) << replay.status();
  return replay.ok() ? replay->rtmrs : Rtmrs{};
}

// Order counts, and each event counts.
TEST(EventLog, DependsOnEveryEventAndTheirOrder) {
  const std::string a = Event(1, 8, 1), b = Event(1, 8, 2), other = Event(2, 8, 1);
  const Rtmrs rtmrs = Of(Header() + a + b);
  EXPECT_NE(rtmrs, Of(Header() + b + a));
  EXPECT_NE(rtmrs, Of(Header() + a));
  EXPECT_NE(rtmrs, Of(Header() + a + b + other));
  EXPECT_EQ(rtmrs, Of(Header() + a + Event(1, 3, 9) + b));  // EV_NO_ACTION
  EXPECT_EQ(rtmrs, Of(Header() + a + Event(0, 8, 9) + b));  // MRTD
  EXPECT_EQ(rtmrs, Of(Header() + a + b + std::string(100, '\0')));
  EXPECT_EQ(rtmrs, Of(Header() + a + b + std::string(100, '\xFF')));
  EXPECT_TRUE(CheckEventLog(Header() + a + b, rtmrs).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckEventLog(Header() + b + a, rtmrs)));
}

TEST(EventLog, RefusesWhatIsMalformed) {
  const std::string good = Header() + Event(1, 8, 1) + Event(4, 8, 2);
  for (size_t size = 0; size < good.size(); ++size) {
    const bool whole = size == Header().size() || size == Header().size() + Event(1, 8, 1).size();
    EXPECT_EQ(ReplayEventLog(good.substr(0, size)).ok(), whole) << size;
  }
  for (const std::string& event :
       {Event(5, 8, 1), Event(1, 8, 1, 0x000B), Event(1, 8, 1, 0x0099)}) {
    EXPECT_FALSE(ReplayEventLog(Header() + event).ok());
  }
  std::string huge = good;
  huge.replace(Header().size() + 8, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_FALSE(ReplayEventLog(huge).ok());
  EXPECT_FALSE(ReplayEventLog(std::string(kMaxEventLogSize + 1, '\0')).ok());
}

TEST(RealEventLog, ReplaysToAllFourRegistersOfItsQuote) {
  CARAVAN_REQUIRE_VECTORS();
  const auto log = ReadVectorForTest("tdx/go-tdx-guest/ccel/ccel_data.dat");
  const auto quote = ReadVectorForTest("tdx/go-tdx-guest/ccel/cos-113-tdx-quote.dat");
  ASSERT_TRUE(log.has_value() && quote.has_value());
  Rtmrs quoted;
  for (size_t i = 0; i < quoted.size(); ++i) {
    std::copy_n(quote->begin() + static_cast<std::ptrdiff_t>(kRtmrs + 48 * i), 48,
                quoted[i].begin());
  }
  const auto replay = ReplayEventLog(*log);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_GT(replay->events, 10u);
  EXPECT_TRUE(CheckEventLog(*log, quoted).ok()) << CheckEventLog(*log, quoted);
  quoted[3][0] ^= 1;
  EXPECT_FALSE(CheckEventLog(*log, quoted).ok());
}

TEST(RealEventLog, IsReadFromOtherFirmwareToo) {
  CARAVAN_REQUIRE_VECTORS();
  for (const char* path : {"tdx/lunal/tdx_ccel_live.bin", "tdx/trustee/CCEL_data_ovmf"}) {
    const auto log = ReadVectorForTest(path);
    ASSERT_TRUE(log.has_value()) << path;
    EXPECT_TRUE(ReplayEventLog(*log).ok()) << path << ReplayEventLog(*log).status();
  }
}

}  // namespace
}  // namespace caravan::attestation::tdx
