// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/types.h"

namespace caravan::collective {
namespace {

OperationSpec Spec(DataType type, uint64_t count) {
  OperationSpec spec;
  spec.dtype = type;
  spec.count = count;
  spec.chunk_log2 = 14;
  return spec;
}

TEST(Blocks, CoverTheVectorBalancedOnElementBorders) {
  for (const DataType type : {DataType::kFloat16, DataType::kFloat32, DataType::kInt64}) {
    for (int size = 1; size <= 17; ++size) {
      for (const uint64_t count : {0, 1, 15, 16, 17, 1000, 8191, 8192, 100003, 1000000}) {
        const OperationSpec spec = Spec(type, count);
        const Blocks blocks = Blocks::Balanced(spec, size);
        uint64_t bytes = 0, longest = 0, shortest = UINT64_MAX;
        uint32_t most = 0, fewest = UINT32_MAX;
        for (int b = 0; b < size; ++b) {
          EXPECT_EQ(blocks.Offset(b, 0), bytes);
          EXPECT_EQ(blocks.bytes(b) % SizeOf(type), 0u);
          uint64_t in_chunks = 0;
          for (uint32_t c = 0; c < blocks.chunks(b); ++c) in_chunks += blocks.Bytes(b, c);
          EXPECT_EQ(in_chunks, blocks.bytes(b));
          bytes += blocks.bytes(b);
          longest = std::max(longest, blocks.bytes(b));
          shortest = std::min(shortest, blocks.bytes(b));
          most = std::max(most, blocks.chunks(b));
          fewest = std::min(fewest, blocks.chunks(b));
        }
        EXPECT_EQ(bytes, spec.bytes());
        EXPECT_LE(longest - shortest, 64u);
        EXPECT_LE(most - fewest, 1u);
        EXPECT_EQ(blocks.max_chunks(), most);
        if (count >= static_cast<uint64_t>(size)) {
          EXPECT_GT(shortest, 0u) << "an idle rank";
        }
        if (count % size == 0) {
          EXPECT_EQ(longest, shortest);
        }
      }
    }
  }
}

TEST(Blocks, StartOn64BytesWhenLargeAndUneven) {
  const Blocks blocks = Blocks::Balanced(Spec(DataType::kFloat32, 100001), 7);
  for (int b = 0; b < 7; ++b) EXPECT_EQ(blocks.Offset(b, 0) % 64, 0u);
}

TEST(Blocks, OfAnEmptyVectorHaveOneEmptyChunkEach) {
  for (const Blocks& blocks : {Blocks::Balanced(Spec(DataType::kFloat32, 0), 3),
                               Blocks::Uniform(Spec(DataType::kFloat32, 0), 3)}) {
    EXPECT_EQ(blocks.total_chunks(), 3u);
    EXPECT_EQ(blocks.Bytes(2, 0), 0u);
  }
  EXPECT_EQ(Blocks::Balanced(Spec(DataType::kFloat32, 1), 3).total_chunks(), 1u);
}

}  // namespace
}  // namespace caravan::collective
