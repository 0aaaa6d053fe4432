// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/tcb.h"

#include "gtest/gtest.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr RawTcb kBytes = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(Tcb, HasTwoLayouts) {
  EXPECT_EQ(DecodeTcb(kBytes, v1::MILAN),
            (Tcb{.boot_loader = 1, .tee = 2, .snp = 7, .microcode = 8}));
  EXPECT_EQ(DecodeTcb(kBytes, v1::GENOA), DecodeTcb(kBytes, v1::MILAN));
  EXPECT_EQ(DecodeTcb(kBytes, v1::TURIN),
            (Tcb{.fmc = 1, .boot_loader = 2, .tee = 3, .snp = 4, .microcode = 8}));
}

TEST(Tcb, SurvivesEncodingAndShowsReservedBytes) {
  for (Product product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    const Tcb tcb = DecodeTcb(kBytes, product);
    EXPECT_EQ(DecodeTcb(EncodeTcb(tcb, product), product), tcb);
    EXPECT_TRUE(HasReservedTcbBits(kBytes, product));
    EXPECT_FALSE(HasReservedTcbBits(EncodeTcb(tcb, product), product));
  }
}

TEST(Tcb, ShortfallNamesTheComponent) {
  const Tcb have{.boot_loader = 9, .snp = 8, .microcode = 0x73};
  EXPECT_EQ(Shortfall(have, have, "wants"), std::nullopt);
  EXPECT_EQ(Shortfall(have, {.microcode = 0xD1}, "policy wants >="),
            "microcode SVN 0x73, policy wants >= 0xd1");
  EXPECT_EQ(Difference(have, {.boot_loader = 9, .snp = 7, .microcode = 0x73}, "certificate says"),
            "snp SVN 0x08, certificate says 0x07");
}

TEST(Product, ComesFromCpuid) {
  EXPECT_EQ(ProductOfCpuid(0x19, 0x01), v1::MILAN);
  EXPECT_EQ(ProductOfCpuid(0x19, 0x11), v1::GENOA);
  EXPECT_EQ(ProductOfCpuid(0x19, 0xA0), v1::GENOA);
  EXPECT_EQ(ProductOfCpuid(0x1A, 0x02), v1::TURIN);
  EXPECT_EQ(ProductOfCpuid(0x1A, 0x11), v1::TURIN);
  EXPECT_EQ(ProductOfCpuid(0x19, 0x20), v1::SNP_PRODUCT_UNSPECIFIED);
  EXPECT_EQ(ProductOfCpuid(0x1A, 0x20), v1::SNP_PRODUCT_UNSPECIFIED);
  EXPECT_EQ(ProductOfCpuid(0, 0), v1::SNP_PRODUCT_UNSPECIFIED);
}

TEST(Product, ComesFromNamesWithAndWithoutStepping) {
  EXPECT_EQ(ProductOfName("Milan-B0"), v1::MILAN);
  EXPECT_EQ(ProductOfName("Genoa"), v1::GENOA);
  EXPECT_EQ(ProductOfName("Turin-B1"), v1::TURIN);
  for (const char* name : {"", "-", "milan", "MilanX", "Venice"}) {
    EXPECT_EQ(ProductOfName(name), v1::SNP_PRODUCT_UNSPECIFIED) << name;
  }
}

}  // namespace
}  // namespace caravan::attestation::sev_snp
