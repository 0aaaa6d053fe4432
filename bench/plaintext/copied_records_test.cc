// SPDX-License-Identifier: Apache-2.0
#include "bench/plaintext/copied_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace caravan::bench {
namespace {

TEST(CopiedRecords, HaveTheLayoutOfSealedOnes) {
  const auto factory = CopiedRecords();
  const auto cipher = *factory->Create(crypto::SecretBytes(), {}, {}, 17);
  const std::vector<uint8_t> payload = {1, 2, 3, 4, 5};
  crypto::RecordHeader header;
  header.payload_size = 5;
  header.chunk_count = 1;
  std::vector<uint8_t> record(payload.size() + crypto::kRecordOverhead, 0xEE);
  ASSERT_TRUE(cipher->Seal(header, payload, absl::MakeSpan(record)).ok());
  const auto decoded =
      crypto::DecodeRecordHeader(absl::MakeSpan(record).first(crypto::kRecordHeaderSize));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, header);
  // In clear: that is the point, and what the demo's packet capture must find.
  EXPECT_NE(std::search(record.begin(), record.end(), payload.begin(), payload.end()),
            record.end());
  std::vector<uint8_t> opened(payload.size());
  ASSERT_TRUE(cipher->Open(record, absl::MakeSpan(opened)).ok());
  EXPECT_EQ(opened, payload);
}

TEST(CopiedRecords, RefuseSizesThatDoNotFit) {
  const auto cipher = *CopiedRecords()->Create(crypto::SecretBytes(), {}, {}, 17);
  std::vector<uint8_t> payload(8), record(8 + crypto::kRecordOverhead - 1);
  EXPECT_FALSE(cipher->Seal({}, payload, absl::MakeSpan(record)).ok());
  EXPECT_FALSE(cipher->Open(record, absl::MakeSpan(payload)).ok());
}

}  // namespace
}  // namespace caravan::bench
