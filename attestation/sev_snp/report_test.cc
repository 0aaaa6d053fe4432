// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/report.h"

#include <string>

#include "attestation/insecure_software/forge.h"
#include "attestation/sev_snp/signature.h"
#include "gtest/gtest.h"

namespace caravan::attestation::sev_snp {
namespace {

// Every byte its own value where the layout has a field.
Report Sample() {
  Report report;
  report.version = 5;
  report.guest_svn = 0x01020304;
  report.policy = 0x00000000030B1122;
  report.family_id.fill(1);
  report.image_id.fill(2);
  report.vmpl = 3;
  report.signature_algorithm = kEcdsaP384Sha384;
  report.current_tcb.fill(4);
  report.platform_info = 0x65;
  report.author_key_enabled = true;
  report.mask_chip_key = true;
  report.signing_key = 7;
  report.report_data.fill(5);
  report.measurement.fill(6);
  report.host_data.fill(7);
  report.id_key_digest.fill(8);
  report.author_key_digest.fill(9);
  report.report_id.fill(10);
  report.report_id_ma.fill(11);
  report.reported_tcb.fill(12);
  report.cpuid_family = 0x1A;
  report.cpuid_model = 2;
  report.cpuid_stepping = 1;
  report.chip_id.fill(13);
  report.committed_tcb.fill(14);
  report.current = {.major = 1, .minor = 55, .build = 41};
  report.committed = {.major = 1, .minor = 55, .build = 40};
  report.launch_tcb.fill(15);
  report.launch_mitigations = 0x3F;
  report.current_mitigations = 0x7F;
  return report;
}

TEST(Report, SurvivesSerialisation) {
  const std::string bytes = insecure_software::SerializeReport(Sample());
  const auto report = ParseReport(bytes);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->trailer_is_zero);
  EXPECT_TRUE(report->unknown.empty());
  EXPECT_TRUE(report->mask_chip_key && report->author_key_enabled);
  EXPECT_EQ(report->signing_key, 7);
  EXPECT_EQ(report->abi_major(), 0x11);
  EXPECT_EQ(report->abi_minor(), 0x22);
  EXPECT_TRUE(report->Has(kDebug));
  EXPECT_EQ(report->current.ToString(), "1.55.41");
  EXPECT_LT(report->committed, report->current);
  EXPECT_EQ(insecure_software::SerializeReport(*report), bytes);
}

// AMD 56860: where the fields stand.
TEST(Report, HasTheFieldsWhereTheSpecificationSays) {
  const std::string bytes = insecure_software::SerializeReport(Sample());
  const std::pair<size_t, char> fields[] = {
      {0x010, 1},  {0x020, 2},    {0x038, 4},   {0x040, 0x65}, {0x048, 0x1F}, {0x050, 5},
      {0x090, 6},  {0x0C0, 7},    {0x0E0, 8},   {0x110, 9},    {0x140, 10},   {0x160, 11},
      {0x180, 12}, {0x188, 0x1A}, {0x1A0, 13},  {0x1E0, 14},   {0x1E8, 41},   {0x1EC, 40},
      {0x1F0, 15}, {0x1F8, 0x3F}, {0x200, 0x7F}};
  for (const auto& [at, value] : fields) EXPECT_EQ(bytes[at], value) << at;
}

TEST(Report, RefusesOtherSizesAndOldVersions) {
  const std::string bytes = insecure_software::SerializeReport(Sample());
  EXPECT_FALSE(ParseReport("").ok());
  EXPECT_FALSE(ParseReport(bytes.substr(1)).ok());
  EXPECT_FALSE(ParseReport(bytes + '\0').ok());
  for (uint32_t version : {0, 1}) {
    Report report = Sample();
    report.version = version;
    EXPECT_FALSE(ParseReport(insecure_software::SerializeReport(report)).ok()) << version;
  }
}

TEST(Report, NamesWhatItDoesNotKnow) {
  Report report = Sample();
  report.version = 6;
  EXPECT_EQ(ParseReport(insecure_software::SerializeReport(report))->unknown.size(), 1u);
  report.version = 2;  // has no CPUID and no mitigation vectors
  EXPECT_EQ(ParseReport(insecure_software::SerializeReport(report))->unknown.size(), 2u);
}

TEST(Signature, CoversEverySignedByte) {
  const EvpPkeyPtr key = *insecure_software::MakeP384Key();
  std::string report = insecure_software::SerializeReport(Sample());
  ASSERT_TRUE(SignReport(key.get(), &report).ok());
  ASSERT_TRUE(CheckReportSignature(report, key.get()).ok());
  for (size_t at = 0; at < kSignatureEnd; at += 5) {
    std::string flipped = report;
    flipped[at] ^= 0x10;
    EXPECT_FALSE(CheckReportSignature(flipped, key.get()).ok()) << at;
  }
}

TEST(Signature, RefusesKeysOfAnotherCurve) {
  const EvpPkeyPtr p384 = *insecure_software::MakeP384Key();
  const EvpPkeyPtr p256(EVP_EC_gen("P-256"));
  std::string report = insecure_software::SerializeReport(Sample());
  ASSERT_TRUE(SignReport(p384.get(), &report).ok());
  EXPECT_FALSE(CheckReportSignature(report, p256.get()).ok());
  EXPECT_FALSE(CheckReportSignature(report, nullptr).ok());
  EXPECT_FALSE(SignReport(p256.get(), &report).ok());
}

}  // namespace
}  // namespace caravan::attestation::sev_snp
