// SPDX-License-Identifier: Apache-2.0
//
// Wycheproof's AEAD vectors on every engine. Sizes that Aead does not support must be refused,
// never cut or padded.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "crypto/aead.h"
#include "crypto/wycheproof.h"

namespace caravan::crypto {
namespace {

std::vector<std::tuple<Suite, Engine>> Everything() {
  std::vector<std::tuple<Suite, Engine>> all;
  for (Suite suite : {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}) {
    for (Engine engine : AvailableEngines(suite)) all.emplace_back(suite, engine);
  }
  return all;
}

class WycheproofAead : public testing::TestWithParam<std::tuple<Suite, Engine>> {
 protected:
  void SetUp() override {
    if (!WycheproofIsPresent()) GTEST_SKIP() << kWycheproofMissing;
  }

  // Runs a vector of supported sizes.
  static void Run(Aead& aead, const WycheproofCase& one) {
    const std::vector<uint8_t> iv = one.bytes("iv"), ad = one.bytes("aad"), msg = one.bytes("msg");
    const std::vector<uint8_t> ct = one.bytes("ct"), tag = one.bytes("tag");
    std::vector<uint8_t> sealed(msg.size()), sealed_tag(kAeadTagSize), opened(ct.size(), 0xAA);
    ASSERT_TRUE(aead.Seal(iv, ad, msg, absl::MakeSpan(sealed), absl::MakeSpan(sealed_tag)).ok());
    const absl::Status status = aead.Open(iv, ad, ct, tag, absl::MakeSpan(opened));
    if (one.valid()) {
      EXPECT_EQ(sealed, ct);
      EXPECT_EQ(sealed_tag, tag);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(opened, msg);
    } else {
      EXPECT_FALSE(sealed == ct && sealed_tag == tag);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(opened, std::vector<uint8_t>(ct.size(), 0));
    }
  }

  // Requires that a vector of other sizes is refused: the key, or else the nonce.
  static void RequireRefusal(const absl::StatusOr<std::unique_ptr<Aead>>& aead,
                             const WycheproofCase& one) {
    if (one.group_number("keySize") != 256) {
      EXPECT_EQ(aead.status().code(), absl::StatusCode::kInvalidArgument);
      return;
    }
    ASSERT_TRUE(aead.ok()) << aead.status();
    const std::vector<uint8_t> iv = one.bytes("iv"), ct = one.bytes("ct"), tag = one.bytes("tag");
    std::vector<uint8_t> out(ct.size()), out_tag(kAeadTagSize);
    EXPECT_EQ((*aead)->Open(iv, {}, ct, tag, absl::MakeSpan(out)).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ((*aead)->Seal(iv, {}, ct, absl::MakeSpan(out), absl::MakeSpan(out_tag)).code(),
              absl::StatusCode::kInvalidArgument);
  }
};

TEST_P(WycheproofAead, AgreesWhereSupportedAndRefusesTheRest) {
  const Suite suite = std::get<0>(GetParam());
  const auto engine = std::get<1>(GetParam());
  int run = 0;
  int refused = 0;
  const bool gcm = suite == Suite::kAes256Gcm;
  ForEachWycheproofCase(gcm ? "aes_gcm" : "chacha20_poly1305", [&](const WycheproofCase& one) {
    ASSERT_EQ(one.group_number("tagSize"), 128);
    absl::StatusOr<std::unique_ptr<Aead>> aead =
        Aead::Create(suite, engine, *SecretBytes::Copy(one.bytes("key")));
    if (one.group_number("keySize") == 256 && one.group_number("ivSize") == 96) {
      ++run;
      ASSERT_TRUE(aead.ok()) << aead.status();
      Run(**aead, one);
    } else {
      ++refused;
      RequireRefusal(aead, one);
    }
  });
  EXPECT_EQ(run, gcm ? 66 : 316);
  EXPECT_EQ(refused, gcm ? 250 : 9);
}

std::string Name(const testing::TestParamInfo<std::tuple<Suite, Engine>>& info) {
  std::string name(SuiteName(std::get<0>(info.param)));
  name.append("_").append(EngineName(std::get<1>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, WycheproofAead, testing::ValuesIn(Everything()), Name);

}  // namespace
}  // namespace caravan::crypto
