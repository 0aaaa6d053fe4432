// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/leaf.h"

#include <string>

#include "attestation/sev_snp/chain.h"
#include "attestation/sev_snp/test_vectors.h"
#include "gtest/gtest.h"

namespace caravan::attestation::sev_snp {
namespace {

TEST(Hwid, IsToldFromItsWrappingByLength) {
  const std::string chip(64, '\x04');
  const std::string turin("\x02\x06\x04\x08\x01\x02\x03\x04");
  EXPECT_EQ(*DecodeHwid(chip), chip);
  EXPECT_EQ(*DecodeHwid("\x04\x40" + chip), chip);
  EXPECT_EQ(*DecodeHwid(turin), turin);
  EXPECT_EQ(*DecodeHwid("\x04\x08" + turin), turin);
  for (const std::string& bad : {std::string(), std::string(9, '\x04'), chip + "x",
                                 "\x04\x3F" + chip, "\x02\x40" + chip, std::string(66, '\0')}) {
    EXPECT_FALSE(DecodeHwid(bad).ok()) << bad.size();
  }
}

TEST(RealLeaf, SaysWhatAmdWroteIntoIt) {
  CARAVAN_REQUIRE_VECTORS();
  const auto leaf = ParseLeaf(*Certificate::Parse(*ReadVectorForTest("snp/trustee/test-vcek.der")));
  ASSERT_TRUE(leaf.ok()) << leaf.status();
  EXPECT_EQ(leaf->kind, SigningKey::kVcek);
  EXPECT_EQ(leaf->product_name, "Milan-B0");
  EXPECT_EQ(leaf->tcb, (Tcb{.boot_loader = 3, .tee = 0, .snp = 8, .microcode = 0x73}));
  EXPECT_EQ(leaf->hwid.size(), 64u);
  const auto turin =
      ParseLeaf(*Certificate::Parse(*ReadVectorForTest("snp/virtee-sev/vcek_turin.der")));
  ASSERT_TRUE(turin.ok()) << turin.status();
  EXPECT_EQ(turin->product, v1::TURIN);
  EXPECT_EQ(turin->hwid.size(), 8u);
  const auto vlek = ParseLeaf(*Certificate::Parse(*ReadVectorForTest("snp/trustee/test-vlek.der")));
  ASSERT_TRUE(vlek.ok()) << vlek.status();
  EXPECT_EQ(vlek->kind, SigningKey::kVlek);
  EXPECT_EQ(vlek->csp_id, "CN=cc-us-east-2.amazonaws.com");
}

TEST(KdsUrl, AsksForTheReportedTcbAndTheShortHwidOfTurin) {
  CARAVAN_REQUIRE_VECTORS();
  const auto report = ParseReport(*ReadVectorForTest("snp/ms-tee-av/turin_attestation_report.bin"));
  EXPECT_EQ(KdsUrl(*report),
            "https://kdsintf.amd.com/vcek/v1/Turin/59790fb1c39f35c1"
            "?blSPL=01&teeSPL=01&snpSPL=04&ucodeSPL=81&fmcSPL=01");
}

}  // namespace
}  // namespace caravan::attestation::sev_snp
