// SPDX-License-Identifier: Apache-2.0
#include "attestation/known_signatures.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

constexpr crypto::Sha256Digest kKey = {1}, kOtherKey = {2};

class KnownSignaturesTest : public testing::Test {
 protected:
  // Whether the signature was asked about; `holds` is the answer that it then gets.
  bool Asks(std::string_view kind, std::string_view object, const crypto::Sha256Digest& key,
            bool holds = true) {
    bool asked = false;
    const bool held = KnownSignatures::Check(&known_, kind, object, key, [&] {
      asked = true;
      return holds;
    });
    EXPECT_EQ(held, !asked || holds);
    return asked;
  }

  KnownSignatures known_;
};

TEST_F(KnownSignaturesTest, AsksOnceAboutWhatHolds) {
  EXPECT_TRUE(Asks("certificate", "object", kKey));
  EXPECT_FALSE(Asks("certificate", "object", kKey));
}

TEST_F(KnownSignaturesTest, AsksEachTimeAboutWhatDoesNotHold) {
  EXPECT_TRUE(Asks("certificate", "object", kKey, false));
  EXPECT_TRUE(Asks("certificate", "object", kKey, false));
}

TEST_F(KnownSignaturesTest, AsksAboutOtherBytesKeysAndKinds) {
  EXPECT_TRUE(Asks("certificate", "object", kKey));
  EXPECT_TRUE(Asks("certificate", "objecu", kKey, false));
  EXPECT_TRUE(Asks("certificate", "objec", kKey, false));
  EXPECT_TRUE(Asks("certificate", "object", kOtherKey, false));
  EXPECT_TRUE(Asks("certificat", "object", kKey, false));
}

TEST_F(KnownSignaturesTest, AsksEachTimeWithoutAMemory) {
  for (int i = 0; i < 2; ++i) {
    bool asked = false;
    EXPECT_TRUE(KnownSignatures::Check(nullptr, "certificate", "object", kKey,
                                       [&] { return asked = true; }));
    EXPECT_TRUE(asked);
  }
}

TEST_F(KnownSignaturesTest, ForgetsWhatIsTwoGenerationsOld) {
  const auto fill = [this](const char* generation) {
    for (size_t i = 0; i < KnownSignatures::kGeneration; ++i) {
      Asks("certificate", absl::StrCat(generation, i), kKey);
    }
  };
  fill("a");
  fill("b");
  EXPECT_FALSE(Asks("certificate", "a0", kKey));
  EXPECT_FALSE(Asks("certificate", "b0", kKey));
  fill("c");
  EXPECT_TRUE(Asks("certificate", "a0", kKey));
}

TEST_F(KnownSignaturesTest, ServesSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(KnownSignatures::Check(&known_, "certificate", absl::StrCat(i), kKey,
                                           [] { return true; }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(Asks("certificate", "499", kKey));
}

}  // namespace
}  // namespace caravan::attestation
