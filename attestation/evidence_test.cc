// SPDX-License-Identifier: Apache-2.0
#include "attestation/evidence.h"

#include <string>

#include "crypto/hash.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

EvidenceSet Sample() {
  return {{{EvidenceKind::kSevSnp, std::string(1184, 'r'), {"leaf", "intermediate", "root"}},
           {EvidenceKind::kNvidia, "gpu report", {}}}};
}

TEST(EvidenceSet, SurvivesTheWire) {
  const std::string bytes = Encode(Sample());
  const auto decoded = DecodeEvidenceSet(crypto::AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->items.size(), 2u);
  EXPECT_EQ(decoded->items[0].certificates, Sample().items[0].certificates);
  EXPECT_EQ(decoded->items[1].kind, EvidenceKind::kNvidia);
  EXPECT_EQ(Encode(*decoded), bytes);
}

TEST(EvidenceSet, HasTheEncodingOfTheProtocol) {
  const EvidenceSet set{{{EvidenceKind::kTdx, "ab", {"c"}}}};
  EXPECT_EQ(Encode(set), std::string("\1\0\0\0\2\0\2\0\0\0ab\1\0\1\0\0\0c", 19));
}

TEST(EvidenceSet, RefusesEveryTruncation) {
  const std::string bytes = Encode(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(bytes.substr(0, size))).ok()) << size;
  }
}

TEST(EvidenceSet, RefusesTrailingBytes) {
  EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(Encode(Sample()) + '\0')).ok());
}

TEST(EvidenceSet, RefusesAnUnknownKindAndNamesIt) {
  EvidenceSet set = Sample();
  set.items[1].kind = static_cast<EvidenceKind>(6);
  const auto decoded = DecodeEvidenceSet(crypto::AsBytes(Encode(set)));
  EXPECT_EQ(decoded.status(),
            absl::InvalidArgumentError("evidence item 1: kind is 6, expected 1 to 5"));
}

TEST(EvidenceSet, RefusesMoreCertificatesThanTheLimit) {
  EvidenceSet set = Sample();
  set.items[0].certificates.resize(kMaxCertificates + 1);
  EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(Encode(set))).ok());
}

TEST(EvidenceSet, RefusesACertificateOverTheLimit) {
  EvidenceSet set = Sample();
  set.items[0].certificates[0].resize(kMaxCertificateSize + 1);
  EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(Encode(set))).ok());
}

TEST(EvidenceSet, RefusesMoreThanAMebibyte) {
  EvidenceSet set = Sample();
  set.items[0].report.resize(kMaxEvidenceSize);
  EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(Encode(set))).ok());
}

TEST(EvidenceSet, RefusesACountThatTheBytesCannotHold) {
  EXPECT_FALSE(DecodeEvidenceSet(crypto::AsBytes(std::string(4, '\xFF'))).ok());
}

}  // namespace
}  // namespace caravan::attestation
