// SPDX-License-Identifier: Apache-2.0
#include "crypto/aead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace caravan::crypto {
namespace {

std::vector<uint8_t> RandomBytes(size_t size, std::mt19937& random) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
    const uint32_t word = random();
    memcpy(bytes.data() + i, &word, std::min(sizeof(word), size - i));
  }
  return bytes;
}

std::vector<std::tuple<Suite, Engine>> Everything() {
  std::vector<std::tuple<Suite, Engine>> all;
  for (Suite suite : {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}) {
    for (Engine engine : AvailableEngines(suite)) all.emplace_back(suite, engine);
  }
  return all;
}

std::string Name(const testing::TestParamInfo<std::tuple<Suite, Engine>>& info) {
  std::string name(SuiteName(std::get<0>(info.param)));
  name.append("_").append(EngineName(std::get<1>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class AeadEngine : public testing::TestWithParam<std::tuple<Suite, Engine>> {
 protected:
  std::unique_ptr<Aead> Make() { return Make(engine()); }
  std::unique_ptr<Aead> Make(Engine engine) {
    absl::StatusOr<std::unique_ptr<Aead>> aead = Aead::Create(suite(), engine, key_);
    EXPECT_TRUE(aead.ok()) << aead.status();
    return *std::move(aead);
  }
  Suite suite() const { return std::get<0>(GetParam()); }
  Engine engine() const { return std::get<1>(GetParam()); }

  std::mt19937 random_{7};
  SecretBytes key_ = *SecretBytes::Random(kAeadKeySize);
};

TEST_P(AeadEngine, EqualsOpenSslBitForBitAtEverySize) {
  std::unique_ptr<Aead> aead = Make();
  std::unique_ptr<Aead> reference = Make(Engine::kOpenSsl);
  std::vector<size_t> sizes;
  for (size_t i = 0; i <= 1100; ++i) sizes.push_back(i);
  for (int i = 0; i < 60; ++i) sizes.push_back(random_() % (300 << 10));
  for (int log2 = 11; log2 <= 18; ++log2) {
    for (int d : {-17, -1, 0, 1, 15}) sizes.push_back((size_t{1} << log2) + d);
  }
  for (size_t size : sizes) {
    const std::vector<uint8_t> plaintext = RandomBytes(size, random_);
    const std::vector<uint8_t> ad = RandomBytes(random_() % 5 == 0 ? random_() % 300 : 48, random_);
    const std::vector<uint8_t> nonce = RandomBytes(kAeadNonceSize, random_);
    std::vector<uint8_t> expected(size), expected_tag(kAeadTagSize);
    ASSERT_TRUE(
        reference
            ->Seal(nonce, ad, plaintext, absl::MakeSpan(expected), absl::MakeSpan(expected_tag))
            .ok());

    std::vector<uint8_t> out(size), tag(kAeadTagSize);
    ASSERT_TRUE(aead->Seal(nonce, ad, plaintext, absl::MakeSpan(out), absl::MakeSpan(tag)).ok());
    ASSERT_TRUE(out == expected && tag == expected_tag) << "out of place, size " << size;
    std::vector<uint8_t> opened(size);
    ASSERT_TRUE(aead->Open(nonce, ad, out, tag, absl::MakeSpan(opened)).ok());
    ASSERT_TRUE(opened == plaintext) << size;

    out = plaintext;
    ASSERT_TRUE(aead->Seal(nonce, ad, out, absl::MakeSpan(out), absl::MakeSpan(tag)).ok());
    ASSERT_TRUE(out == expected && tag == expected_tag) << "in place, size " << size;
    ASSERT_TRUE(aead->Open(nonce, ad, out, tag, absl::MakeSpan(out)).ok());
    ASSERT_TRUE(out == plaintext) << size;
  }
}

TEST_P(AeadEngine, WorksAtEveryAlignment) {
  std::unique_ptr<Aead> aead = Make();
  std::unique_ptr<Aead> reference = Make(Engine::kOpenSsl);
  const std::vector<uint8_t> ad = RandomBytes(48, random_);
  const std::vector<uint8_t> nonce = RandomBytes(kAeadNonceSize, random_);
  std::vector<uint8_t> in(5000), out(5000), expected(4099), tag(16), expected_tag(16);
  for (size_t shift = 0; shift < 64; ++shift) {
    in = RandomBytes(in.size(), random_);
    const absl::Span<const uint8_t> plaintext = absl::MakeConstSpan(in).subspan(shift, 4099);
    const absl::Span<uint8_t> ciphertext = absl::MakeSpan(out).subspan(63 - shift, 4099);
    ASSERT_TRUE(aead->Seal(nonce, ad, plaintext, ciphertext, absl::MakeSpan(tag)).ok());
    ASSERT_TRUE(
        reference
            ->Seal(nonce, ad, plaintext, absl::MakeSpan(expected), absl::MakeSpan(expected_tag))
            .ok());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), ciphertext.begin()));
    ASSERT_EQ(tag, expected_tag);
  }
}

TEST_P(AeadEngine, RefusesEveryFlipAndLeavesZeros) {
  std::unique_ptr<Aead> aead = Make();
  for (size_t size : {0, 1, 16, 100, 1000}) {
    const std::vector<uint8_t> plaintext = RandomBytes(size, random_);
    const std::vector<uint8_t> nonce = RandomBytes(kAeadNonceSize, random_);
    const std::vector<uint8_t> ad = RandomBytes(48, random_);
    std::vector<uint8_t> ciphertext(size), tag(kAeadTagSize);
    ASSERT_TRUE(
        aead->Seal(nonce, ad, plaintext, absl::MakeSpan(ciphertext), absl::MakeSpan(tag)).ok());
    std::vector<uint8_t> parts[] = {nonce, ad, ciphertext, tag};
    for (std::vector<uint8_t>& part : parts) {
      for (size_t bit = 0; bit<part.size() * 8; bit += size> 100 ? 13 : 1) {
        part[bit / 8] ^= 1 << (bit % 8);
        std::vector<uint8_t> opened(size, 0xAA);
        const absl::Status status =
            aead->Open(parts[0], parts[1], parts[2], parts[3], absl::MakeSpan(opened));
        ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        ASSERT_EQ(opened, std::vector<uint8_t>(size, 0));
        part[bit / 8] ^= 1 << (bit % 8);
      }
    }
    std::vector<uint8_t> opened(size);
    ASSERT_TRUE(aead->Open(parts[0], parts[1], parts[2], parts[3], absl::MakeSpan(opened)).ok());
    ASSERT_EQ(opened, plaintext);
  }
}

TEST_P(AeadEngine, RefusesWrongSizesAndWritesNothing) {
  std::unique_ptr<Aead> aead = Make();
  struct Sizes {
    size_t nonce, in, out, tag;
  };
  for (const Sizes& s : {Sizes{0, 32, 32, 16}, Sizes{11, 32, 32, 16}, Sizes{13, 32, 32, 16},
                         Sizes{16, 32, 32, 16}, Sizes{12, 32, 31, 16}, Sizes{12, 32, 33, 16},
                         Sizes{12, 32, 32, 0}, Sizes{12, 32, 32, 15}, Sizes{12, 32, 32, 17}}) {
    std::vector<uint8_t> nonce(s.nonce), in(s.in), out(s.out, 0xAA), tag(s.tag, 0xAA);
    EXPECT_EQ(aead->Seal(nonce, {}, in, absl::MakeSpan(out), absl::MakeSpan(tag)).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(aead->Open(nonce, {}, in, tag, absl::MakeSpan(out)).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(out, std::vector<uint8_t>(s.out, 0xAA));
    EXPECT_EQ(tag, std::vector<uint8_t>(s.tag, 0xAA));
  }
}

TEST_P(AeadEngine, RefusesPartialOverlap) {
  std::unique_ptr<Aead> aead = Make();
  std::vector<uint8_t> memory(200, 1), nonce(12), tag(16);
  const absl::Span<uint8_t> all = absl::MakeSpan(memory);
  for (size_t shift : {1, 16, 99}) {
    EXPECT_EQ(
        aead->Seal(nonce, {}, all.first(100), all.subspan(shift, 100), absl::MakeSpan(tag)).code(),
        absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(aead->Open(nonce, {}, all.subspan(shift, 100), tag, all.first(100)).code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(
      aead->Seal(nonce, {}, all.first(100), all.subspan(100, 100), absl::MakeSpan(tag)).ok());
  EXPECT_EQ(memory[0], 1);
}

TEST_P(AeadEngine, DiffersByKey) {
  std::unique_ptr<Aead> aead = Make();
  std::vector<uint8_t> text(64), nonce(12), tag(16);
  ASSERT_TRUE(aead->Seal(nonce, {}, text, absl::MakeSpan(text), absl::MakeSpan(tag)).ok());
  key_.ExposeMutable()[31] ^= 1;
  EXPECT_EQ(Make()->Open(nonce, {}, text, tag, absl::MakeSpan(text)).code(),
            absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(All, AeadEngine, testing::ValuesIn(Everything()), Name);

TEST(Aead, RefusesWrongKeySizesAndUnknownValues) {
  for (size_t size : {0, 16, 24, 31, 33, 48}) {
    SecretBytes key = *SecretBytes::Zero(size);
    for (const auto& [suite, engine] : Everything()) {
      EXPECT_EQ(Aead::Create(suite, engine, key).status().code(),
                absl::StatusCode::kInvalidArgument)
          << size;
    }
  }
  SecretBytes key = *SecretBytes::Zero(32);
  EXPECT_EQ(Aead::Create(static_cast<Suite>(3), Engine::kOpenSsl, key).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Aead::Create(Suite::kAes256Gcm, static_cast<Engine>(9), key).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Aead, BestEngineIsAvailable) {
  for (Suite suite : {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}) {
    const std::vector<Engine> engines = AvailableEngines(suite);
    EXPECT_EQ(std::count(engines.begin(), engines.end(), BestEngine(suite)), 1);
    EXPECT_EQ(engines.back(), Engine::kOpenSsl);
  }
}

}  // namespace
}  // namespace caravan::crypto
