// SPDX-License-Identifier: Apache-2.0
//
// Verifying leaves nothing behind.
#include <cstdlib>
#include <memory>

#include "bench/verify/memory.h"
#include "bench/verify/subjects.h"
#include "gtest/gtest.h"

namespace caravan::bench {
namespace {

// The target runs it without malloc's caches for threads, whose fill counts as allocated.
constexpr int kWarmUp = 30, kVerifications = 300;
constexpr size_t kSlack = 4096;  // bytes: under 14 a verification

TEST(VerifyGrowth, NoKindOfEvidenceLeavesMemoryBehind) {
  for (const Subject& subject : SyntheticSubjects()) {
    for (const auto& verify : {subject.verify, subject.verify_again}) {
      for (int i = 0; i < kWarmUp; ++i) ASSERT_TRUE(verify()) << subject.name;
      const size_t before = AllocatedBytes();
      for (int i = 0; i < kVerifications; ++i) ASSERT_TRUE(verify()) << subject.name;
      EXPECT_LE(AllocatedBytes(), before + kSlack) << subject.name;
    }
  }
}

// The measure itself: what is kept shows.
TEST(VerifyGrowth, SeesFourteenBytesThatEachVerificationKept) {
  std::unique_ptr<char[]> kept[kVerifications];
  const size_t before = AllocatedBytes();
  for (auto& block : kept) block = std::make_unique<char[]>(14);
  EXPECT_GT(AllocatedBytes(), before + kSlack);
}

}  // namespace
}  // namespace caravan::bench
