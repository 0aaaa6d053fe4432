// SPDX-License-Identifier: Apache-2.0
#include "attestation/ecdsa.h"

#include <openssl/ec.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

class Ecdsa : public testing::TestWithParam<Curve> {
 protected:
  const EvpPkeyPtr key_{EVP_EC_gen(GetParam() == Curve::kP256 ? "P-256" : "P-384")};
  const EvpPkeyPtr other_curve_{EVP_EC_gen(GetParam() == Curve::kP256 ? "P-384" : "P-256")};
};

TEST_P(Ecdsa, AcceptsItsOwnSignatureAlone) {
  const auto signature = SignEcdsa(GetParam(), key_.get(), "message");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->size(), 2 * ScalarSize(GetParam()));
  EXPECT_TRUE(CheckEcdsa(GetParam(), key_.get(), *signature, "message").ok());
  EXPECT_FALSE(CheckEcdsa(GetParam(), key_.get(), *signature, "massage").ok());
  for (size_t i = 0; i < signature->size(); ++i) {
    std::string flipped = *signature;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_FALSE(CheckEcdsa(GetParam(), key_.get(), flipped, "message").ok()) << i;
  }
}

TEST_P(Ecdsa, RefusesScalarsOutOfRangeAndOtherSizes) {
  const std::string good = *SignEcdsa(GetParam(), key_.get(), "message");
  const size_t size = ScalarSize(GetParam());
  std::string zero_r = good, zero_s = good, huge_r = good, huge_s = good;
  std::fill(zero_r.begin(), zero_r.begin() + size, '\0');
  std::fill(zero_s.begin() + size, zero_s.end(), '\0');
  std::fill(huge_r.begin(), huge_r.begin() + size, '\xFF');
  std::fill(huge_s.begin() + size, huge_s.end(), '\xFF');
  for (const std::string& bad : {zero_r, zero_s, huge_r, huge_s, good.substr(1), good + '\0'}) {
    const absl::Status status = CheckEcdsa(GetParam(), key_.get(), bad, "message");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  }
}

TEST_P(Ecdsa, RefusesKeysOfAnotherCurve) {
  EXPECT_FALSE(SignEcdsa(GetParam(), other_curve_.get(), "message").ok());
  const std::string good = *SignEcdsa(GetParam(), key_.get(), "message");
  EXPECT_FALSE(CheckEcdsa(GetParam(), other_curve_.get(), good, "message").ok());
  EXPECT_FALSE(CheckEcdsa(GetParam(), nullptr, good, "message").ok());
}

INSTANTIATE_TEST_SUITE_P(Curves, Ecdsa, testing::Values(Curve::kP256, Curve::kP384),
                         [](const auto& info) {
                           return info.param == Curve::kP256 ? "P256" : "P384";
                         });

TEST(P256Point, SurvivesTheWayThere) {
  const EvpPkeyPtr key(EVP_EC_gen("P-256"));
  const auto point = P256Point(key.get());
  ASSERT_TRUE(point.ok());
  const auto copy = MakeP256PublicKey(*point);
  ASSERT_TRUE(copy.ok()) << copy.status();
  const std::string signature = *SignEcdsa(Curve::kP256, key.get(), "message");
  EXPECT_TRUE(CheckEcdsa(Curve::kP256, copy->get(), signature, "message").ok());
}

TEST(P256Point, RefusesBytesThatAreNone) {
  EXPECT_FALSE(MakeP256PublicKey(std::string(64, '\0')).ok());
  EXPECT_FALSE(MakeP256PublicKey(std::string(64, '\xFF')).ok());
  EXPECT_FALSE(MakeP256PublicKey(std::string(63, '\1')).ok());
  std::string point = *P256Point(EvpPkeyPtr(EVP_EC_gen("P-256")).get());
  point.back() = static_cast<char>(point.back() ^ 1);
  EXPECT_FALSE(MakeP256PublicKey(point).ok());
  EXPECT_FALSE(P256Point(EvpPkeyPtr(EVP_EC_gen("P-384")).get()).ok());
}

}  // namespace
}  // namespace caravan::attestation
