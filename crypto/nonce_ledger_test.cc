// SPDX-License-Identifier: Apache-2.0
#include "crypto/nonce_ledger.h"

#include <gtest/gtest.h>

namespace caravan::crypto {
namespace {

TEST(RecordNonce, IsTheChunkLittleEndianAfterFourZeros) {
  const std::array<uint8_t, 12> expected = {0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0};
  EXPECT_EQ(RecordNonce(0x01020304), expected);
}

class Ledger : public testing::TestWithParam<int> {
 protected:
  uint32_t chunks() const { return 1u << (kSuperchunkLog2 - GetParam()); }
};

TEST_P(Ledger, SpendsEachChunkOfItsSuperchunkOnce) {
  for (uint32_t superchunk : {0u, 3u, (1u << (32 - kSuperchunkLog2 + GetParam())) - 1}) {
    NonceLedger ledger(superchunk, GetParam());
    const uint32_t first = superchunk * chunks();
    for (uint32_t i = 0; i < chunks(); ++i) {
      EXPECT_EQ(SuperchunkOf(first + i, GetParam()), superchunk);
      ASSERT_TRUE(ledger.Spend(first + i).ok());
    }
    for (uint32_t i = 0; i < chunks(); ++i) {
      ASSERT_EQ(ledger.Spend(first + i).code(), absl::StatusCode::kFailedPrecondition);
    }
  }
}

TEST_P(Ledger, RefusesChunksOfOtherSuperchunks) {
  NonceLedger ledger(3, GetParam());
  for (uint32_t chunk : {0u, 3 * chunks() - 1, 4 * chunks(), ~0u}) {
    EXPECT_EQ(ledger.Spend(chunk).code(), absl::StatusCode::kInvalidArgument) << chunk;
  }
  NonceLedger beyond(~0u, GetParam());
  EXPECT_EQ(beyond.Spend(~0u).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(ChunkSizes, Ledger, testing::Range(kMinChunkLog2, kMaxChunkLog2 + 1));

TEST(NonceLedger, RefusesEverythingForAChunkSizeOutOfRange) {
  for (int log2 : {-1, 0, kMinChunkLog2 - 1, kMaxChunkLog2 + 1, 64}) {
    NonceLedger ledger(0, log2);
    EXPECT_EQ(ledger.Spend(0).code(), absl::StatusCode::kInvalidArgument) << log2;
  }
}

}  // namespace
}  // namespace caravan::crypto
