// SPDX-License-Identifier: Apache-2.0
//
// A racing writer against Seal and Open (docs/protocol.md, "Epochs and keys"). An application
// shares its buffers with the daemon and may write them while the daemon seals from them. An engine
// that reads a byte once for the cipher and again for the tag gives the writer a tag that vouches
// for other bytes than were sealed or opened. An engine that reads once always seals a record that
// opens, to bytes that the writer wrote at some time, and never opens other bytes than were sealed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "crypto/aead.h"

namespace caravan::crypto {
namespace {

constexpr uint8_t kFirstValue = 0x00;
constexpr uint8_t kSecondValue = 0xFF;
constexpr int kMixesWanted = 500;
constexpr int kOpensWanted = 500;
constexpr auto kPatience = std::chrono::seconds(60);

// Seals and opens as an engine would that reads once for the cipher and once more for the tag.
class DoubleReader final : public Aead {
 public:
  explicit DoubleReader(std::unique_ptr<Aead> aead) : aead_(std::move(aead)) {}
  absl::Status Seal(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                    absl::Span<const uint8_t> plaintext, absl::Span<uint8_t> ciphertext,
                    absl::Span<uint8_t> tag) override {
    absl::Status status = aead_->Seal(nonce, ad, plaintext, ciphertext, tag);
    std::vector<uint8_t> second(plaintext.size());
    if (status.ok()) status = aead_->Seal(nonce, ad, plaintext, absl::MakeSpan(second), tag);
    return status;
  }
  absl::Status Open(absl::Span<const uint8_t> nonce, absl::Span<const uint8_t> ad,
                    absl::Span<const uint8_t> ciphertext, absl::Span<const uint8_t> tag,
                    absl::Span<uint8_t> plaintext) override {
    std::vector<uint8_t> first(plaintext.size()), unused_tag(kAeadTagSize);
    const absl::Status status = aead_->Open(nonce, ad, ciphertext, tag, absl::MakeSpan(first));
    // Sealing a ciphertext once more decrypts it: both ciphers add a keystream.
    return status.ok() ? aead_->Seal(nonce, ad, ciphertext, plaintext, absl::MakeSpan(unused_tag))
                       : status;
  }
  bool ReadsPlaintextOnce() const override { return false; }

 private:
  std::unique_ptr<Aead> aead_;
};

// Writes the one value, then the other, over all of `memory` until it is destroyed.
class RacingWriter {
 public:
  explicit RacingWriter(std::vector<std::atomic<uint8_t>>& memory)
      : thread_([this, &memory] {
          while (!stop_.load(std::memory_order_relaxed)) {
            for (uint8_t value : {kFirstValue, kSecondValue}) {
              for (auto& byte : memory) byte.store(value, std::memory_order_relaxed);
            }
          }
        }) {}
  ~RacingWriter() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Outcome {
  int mixed = 0;    // opened to both values: the writer was in time
  int invalid = 0;  // did not open
  int foreign = 0;  // opened to a byte that nobody wrote
};

struct OpenOutcome {
  int accepted = 0;
  int refused = 0;  // the writer was in time
  int forged = 0;   // accepted, but to other bytes than were sealed
};

// Opens a record whose ciphertext a racing writer spoils and restores, byte by byte.
OpenOutcome RaceOpen(Aead& aead, size_t size, bool until_forged) {
  const std::vector<uint8_t> nonce(kAeadNonceSize), ad(48), plaintext(size, 0x11);
  std::vector<uint8_t> ciphertext(size), opened(size), tag(kAeadTagSize);
  EXPECT_TRUE(
      aead.Seal(nonce, ad, plaintext, absl::MakeSpan(ciphertext), absl::MakeSpan(tag)).ok());
  std::vector<std::atomic<uint8_t>> shared(size);
  std::copy(ciphertext.begin(), ciphertext.end(), shared.begin());
  const absl::Span<const uint8_t> raced(reinterpret_cast<const uint8_t*>(shared.data()), size);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint32_t i = 0; !stop.load(std::memory_order_relaxed); i = i * 1664525 + 1013904223) {
      const size_t at = (i >> 8) % size;
      shared[at].store(ciphertext[at] ^ 0xFF, std::memory_order_relaxed);
      for (int pause = 0; pause < 50; ++pause) std::atomic_signal_fence(std::memory_order_seq_cst);
      shared[at].store(ciphertext[at], std::memory_order_relaxed);
    }
  });
  OpenOutcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline &&
         (until_forged ? outcome.forged == 0
                       : std::min(outcome.accepted, outcome.refused) < kOpensWanted)) {
    if (!aead.Open(nonce, ad, raced, tag, absl::MakeSpan(opened)).ok()) {
      ++outcome.refused;
      continue;
    }
    ++outcome.accepted;
    if (opened != plaintext) ++outcome.forged;
  }
  stop = true;
  writer.join();
  return outcome;
}

// Seals `size` bytes under a racing writer until enough records are mixed.
Outcome Race(Aead& aead, size_t size, bool until_invalid) {
  Outcome outcome;
  std::vector<std::atomic<uint8_t>> shared(size);
  const absl::Span<const uint8_t> plaintext(reinterpret_cast<const uint8_t*>(shared.data()), size);
  std::vector<uint8_t> ciphertext(size), opened(size), tag(kAeadTagSize);
  const std::vector<uint8_t> nonce(kAeadNonceSize), ad(48);
  RacingWriter writer(shared);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline &&
         (until_invalid ? outcome.invalid == 0 : outcome.mixed < kMixesWanted)) {
    EXPECT_TRUE(
        aead.Seal(nonce, ad, plaintext, absl::MakeSpan(ciphertext), absl::MakeSpan(tag)).ok());
    if (!aead.Open(nonce, ad, ciphertext, tag, absl::MakeSpan(opened)).ok()) {
      ++outcome.invalid;
      continue;
    }
    const auto first = std::count(opened.begin(), opened.end(), kFirstValue);
    const auto second = std::count(opened.begin(), opened.end(), kSecondValue);
    if (first > 0 && second > 0) ++outcome.mixed;
    if (first + second != static_cast<std::ptrdiff_t>(size)) ++outcome.foreign;
  }
  return outcome;
}

using Claim = bool (Aead::*)() const;

// Each engine that makes `claim`, at each size; every engine for no claim.
std::vector<std::tuple<Suite, Engine, size_t>> Engines(Claim claim) {
  std::vector<std::tuple<Suite, Engine, size_t>> all;
  const SecretBytes key = *SecretBytes::Zero(kAeadKeySize);
  for (Suite suite : {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}) {
    for (Engine engine : AvailableEngines(suite)) {
      if (claim != nullptr && !((**Aead::Create(suite, engine, key)).*claim)()) continue;
      for (size_t size : {1000, 16384, 131072 + 5}) all.emplace_back(suite, engine, size);
    }
  }
  return all;
}

class Raced : public testing::TestWithParam<std::tuple<Suite, Engine, size_t>> {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two CPUs to race";
    const auto [suite, engine, size] = GetParam();
    aead_ = *Aead::Create(suite, engine, *SecretBytes::Random(kAeadKeySize));
    size_ = size;
  }

  std::unique_ptr<Aead> aead_;
  size_t size_ = 0;
};

class RacedSeal : public Raced {};
class RacedOpen : public Raced {};
class RacedHarness : public Raced {};

TEST_P(RacedSeal, OpensToBytesThatWereWritten) {
  const Outcome outcome = Race(*aead_, size_, /*until_invalid=*/false);
  EXPECT_GE(outcome.mixed, kMixesWanted) << "the writer was never in time: nothing was tested";
  EXPECT_EQ(outcome.invalid, 0);
  EXPECT_EQ(outcome.foreign, 0);
}

TEST_P(RacedHarness, SeesAnEngineThatSealsReadingTwice) {
  DoubleReader planted(std::move(aead_));
  EXPECT_GT(Race(planted, size_, /*until_invalid=*/true).invalid, 0);
}

TEST_P(RacedOpen, NeverGivesOtherBytesThanWereSealed) {
  const OpenOutcome outcome = RaceOpen(*aead_, size_, /*until_forged=*/false);
  EXPECT_GE(outcome.accepted, kOpensWanted) << "nothing was tested";
  EXPECT_GE(outcome.refused, kOpensWanted) << "the writer was never in time: nothing was tested";
  EXPECT_EQ(outcome.forged, 0);
}

TEST_P(RacedHarness, SeesAnEngineThatOpensReadingTwice) {
  DoubleReader planted(std::move(aead_));
  EXPECT_GT(RaceOpen(planted, size_, /*until_forged=*/true).forged, 0);
}

std::string Name(const testing::TestParamInfo<std::tuple<Suite, Engine, size_t>>& info) {
  const auto [suite, engine, size] = info.param;
  std::string name = std::string(SuiteName(suite)) + "_" + std::string(EngineName(engine)) + "_" +
                     std::to_string(size);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Claims, RacedSeal, testing::ValuesIn(Engines(&Aead::ReadsPlaintextOnce)),
                         Name);
INSTANTIATE_TEST_SUITE_P(Claims, RacedOpen, testing::ValuesIn(Engines(&Aead::ReadsCiphertextOnce)),
                         Name);
INSTANTIATE_TEST_SUITE_P(Planted, RacedHarness, testing::ValuesIn(Engines(nullptr)), Name);

// On a CPU where no engine claims anything there is nothing to hold.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RacedSeal);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RacedOpen);

}  // namespace
}  // namespace caravan::crypto
