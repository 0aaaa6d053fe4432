// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/needs.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/collateral/makers_testing.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const CollateralNeeds& needs) {
  std::vector<std::string> texts;
  for (const CollateralRequest& request : needs.requests) texts.push_back(request.ToString());
  return texts;
}

CollateralNeeds NeedsOf(const EvidenceSet& evidence, const Endorsements& at_hand = {}) {
  auto needs = RequiredCollateral(evidence, at_hand);
  EXPECT_TRUE(needs.ok()) << needs.status();
  return needs.ok() ? *std::move(needs) : CollateralNeeds();
}

std::string Chip(size_t bytes) {
  std::string hex;
  for (size_t i = 0; i < bytes; ++i) hex += "5a";
  return hex;
}

TEST(SnpNeeds, AskForTheReportedTcbOfTheReportedChip) {
  AmdForTest amd;
  // Newer firmware runs already: the key that signed belongs to what is reported.
  amd.world.report.current_tcb = amd.world.Raw({.boot_loader = 9, .tee = 9, .snp = 99});
  const CollateralNeeds needs = NeedsOf(amd.Evidence());
  EXPECT_THAT(Texts(needs), ElementsAre("amd-chain vcek/Milan",
                                        absl::StrCat("amd-vcek Milan/", Chip(64),
                                                     "?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209"),
                                        "amd-crl vcek/Milan"));
  EXPECT_THAT(needs.gaps, IsEmpty());
}

TEST(SnpNeeds, AskForATurinByEightBytesOfItsChipIdAndItsFmc) {
  AmdForTest amd(v1::TURIN);
  EXPECT_THAT(Texts(NeedsOf(amd.Evidence())),
              ElementsAre("amd-chain vcek/Turin",
                          absl::StrCat("amd-vcek Turin/", Chip(8),
                                       "?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209&fmcSPL=01"),
                          "amd-crl vcek/Turin"));
}

TEST(SnpNeeds, TakeBergamoAndSienaForGenoa) {
  AmdForTest amd(v1::GENOA);
  amd.world.report.cpuid_model = 0xA0;
  EXPECT_EQ(Texts(NeedsOf(amd.Evidence())).front(), "amd-chain vcek/Genoa");
}

TEST(SnpNeeds, LeaveTheProductOfAVersion2ReportOpenUntilACertificateTells) {
  AmdForTest amd(v1::GENOA);
  amd.world.report.version = 2;
  amd.world.report.cpuid_family = amd.world.report.cpuid_model = 0;
  const EvidenceSet evidence = amd.Evidence();
  const std::string vcek =
      absl::StrCat("amd-vcek Milan,Genoa/", Chip(64), "?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209");
  EXPECT_THAT(Texts(NeedsOf(evidence)),
              ElementsAre("amd-chain vcek/Milan", "amd-chain vcek/Genoa", vcek));
  EXPECT_THAT(Texts(NeedsOf(evidence, {.certificates = {amd.Vcek().body}, .crls = {}})),
              ElementsAre("amd-chain vcek/Genoa", vcek, "amd-crl vcek/Genoa"));
}

TEST(SnpNeeds, AskForNoCertificateThatTheEvidenceCarries) {
  AmdForTest amd;
  EXPECT_THAT(Texts(NeedsOf(amd.Evidence(/*with_chain=*/true))), ElementsAre("amd-crl vcek/Milan"));
}

TEST(SnpNeeds, AskForTheCertificateThatTheCarriedOneIsNot) {
  AmdForTest amd;
  EvidenceSet evidence = amd.Evidence(/*with_chain=*/true);
  AmdForTest updated;
  updated.world.SetTcb({.boot_loader = 4, .tee = 1, .snp = 25, .microcode = 0xD1});
  evidence.items[0].report = updated.Evidence().items[0].report;
  EXPECT_THAT(Texts(NeedsOf(evidence))[1], HasSubstr("snpSPL=25"));
}

TEST(SnpNeeds, SayThatAVlekCertificateComesFromTheCloud) {
  AmdForTest amd;
  amd.world.report.signing_key = 1;
  const CollateralNeeds needs = NeedsOf(amd.Evidence());
  EXPECT_THAT(Texts(needs), ElementsAre("amd-chain vlek/Milan", "amd-crl vlek/Milan"));
  ASSERT_EQ(needs.gaps.size(), 1u);
  EXPECT_THAT(needs.gaps[0], HasSubstr("has to come with the evidence"));
}

TEST(SnpNeeds, SayWhatTheReportHides) {
  AmdForTest amd;
  amd.world.report.chip_id = {};
  EXPECT_THAT(NeedsOf(amd.Evidence()).gaps[0], HasSubstr("chip id is masked"));
  AmdForTest unknown;
  unknown.world.report.cpuid_family = 0x1F;
  EXPECT_THAT(NeedsOf(unknown.Evidence()).gaps[0], HasSubstr("family 0x1f"));
  AmdForTest unsigned_report;
  unsigned_report.world.report.signing_key = 7;
  EXPECT_THAT(NeedsOf(unsigned_report.Evidence()).gaps[0], HasSubstr("signed by no key"));
}

TEST(Needs, AreNoneForASoftwareStandIn) {
  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  auto root = InsecureRoot::Create(now);
  ASSERT_TRUE(root.ok()) << root.status();
  auto attester = MakeInsecureAttester(*root, {.chip_id = DeriveInsecureChipId("node-a")}, now);
  ASSERT_TRUE(attester.ok()) << attester.status();
  auto evidence = (*attester)->Collect({});
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  const CollateralNeeds needs = NeedsOf(*evidence);
  EXPECT_THAT(Texts(needs), IsEmpty());
  EXPECT_THAT(needs.gaps, IsEmpty());
}

TEST(IntelNeeds, FollowTheQuotesPck) {
  IntelForTest tdx;
  EXPECT_THAT(Texts(NeedsOf(tdx.Evidence())),
              ElementsAre("pck-crl platform", "tcb-info tdx/060606060606", "qe-identity tdx",
                          "intel-root-crl root"));
  IntelForTest sgx(intel::WorldKind::kSgx3);
  sgx.world.pck_spec.platform_instance_id = std::nullopt;
  sgx.world.pck_spec.fmspc = std::string("\x00\x90\x6e\xd5\x00\x00", 6);
  EXPECT_THAT(Texts(NeedsOf(sgx.Evidence())),
              ElementsAre("pck-crl processor", "tcb-info sgx/00906ed50000", "qe-identity sgx",
                          "intel-root-crl root"));
}

TEST(IntelNeeds, SayThatAQuoteWithoutItsPckIsOfNoUse) {
  IntelForTest tdx;
  tdx.world.quote.certification_type = 2;
  const CollateralNeeds needs = NeedsOf(tdx.Evidence());
  EXPECT_THAT(Texts(needs), IsEmpty());
  EXPECT_THAT(needs.gaps[0], HasSubstr("certification data of type 2"));
}

TEST(Needs, AreEachNamedOnceForASet) {
  AmdForTest amd;
  IntelForTest tdx;
  EvidenceSet set = amd.Evidence();
  set.items.push_back(tdx.Evidence().items[0]);
  set.items.push_back(amd.Evidence().items[0]);
  EXPECT_EQ(NeedsOf(set).requests.size(), 3u + 4u);
}

TEST(Needs, RefuseEvidenceThatIsNone) {
  for (EvidenceKind kind : {EvidenceKind::kSevSnp, EvidenceKind::kTdx, EvidenceKind::kSgx}) {
    auto needs = RequiredCollateral(Evidence{kind, "garbage", {}}, {});
    EXPECT_TRUE(absl::IsInvalidArgument(needs.status())) << needs.status();
  }
}

}  // namespace
}  // namespace caravan::attestation
