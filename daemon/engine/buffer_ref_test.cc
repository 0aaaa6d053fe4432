// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/buffer_ref.h"

#include <array>
#include <memory>

#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

class MemoryForTest final : public Memory {
 public:
  MemoryForTest(uint8_t* host, uint64_t size) : Memory(host, size) {}
};

TEST(BufferRef, StartsAtItsOffsetInThisProcess) {
  std::array<uint8_t, 16> bytes{};
  const auto memory = std::make_shared<MemoryForTest>(bytes.data(), bytes.size());
  EXPECT_EQ((BufferRef{memory, 0, 16}).host(), bytes.data());
  EXPECT_EQ((BufferRef{memory, 5, 3}).host(), bytes.data() + 5);
}

TEST(BufferRef, IsNowhereInThisProcessWithoutMemoryOrWhereTheMemoryIsElsewhere) {
  EXPECT_EQ(BufferRef().host(), nullptr);
  const auto elsewhere = std::make_shared<MemoryForTest>(nullptr, 16);
  EXPECT_EQ((BufferRef{elsewhere, 5, 3}).host(), nullptr);
}

TEST(BufferRef, MeetsWhatSharesAByteWithIt) {
  const auto memory = std::make_shared<MemoryForTest>(nullptr, 64);
  const BufferRef middle{memory, 16, 16};
  EXPECT_TRUE(middle.Meets(middle));
  EXPECT_TRUE(middle.Meets({memory, 31, 1}));
  EXPECT_TRUE(middle.Meets({memory, 0, 17}));
  EXPECT_TRUE(middle.Meets({memory, 0, 64}));
  EXPECT_FALSE(middle.Meets({memory, 32, 8}));
  EXPECT_FALSE(middle.Meets({memory, 0, 16}));
}

TEST(BufferRef, MeetsNothingOfOtherMemoryNorWithoutAny) {
  const auto one = std::make_shared<MemoryForTest>(nullptr, 64);
  const auto other = std::make_shared<MemoryForTest>(nullptr, 64);
  EXPECT_FALSE((BufferRef{one, 0, 64}).Meets({other, 0, 64}));
  EXPECT_FALSE((BufferRef{one, 0, 64}).Meets(BufferRef()));
  EXPECT_FALSE(BufferRef().Meets(BufferRef()));
}

TEST(BufferRef, KeepsItsMemory) {
  auto memory = std::make_shared<MemoryForTest>(nullptr, 64);
  const std::weak_ptr<const Memory> watched = memory;
  BufferRef buffer{std::move(memory), 0, 64};
  EXPECT_FALSE(watched.expired());
  buffer = BufferRef();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace caravan::engine
