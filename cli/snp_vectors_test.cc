// SPDX-License-Identifier: Apache-2.0
//
// Real SEV-SNP reports with AMD's chains, through caravanctl verify, each with a time.

#include <string>
#include <utility>
#include <vector>

#include "attestation/sev_snp/test_vectors.h"
#include "cli/verify_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using attestation::VectorPathForTest;

// AMD's revocation lists are not among the vectors: waived in so many words.
std::string Policy(const std::string& allowances) {
  return "name: \"rows\" snp { any_measurement: true any_platform: true any_tcb: true "
         "allow_missing_crl: true allow_smt: true " +
         allowances + " }";
}

const char kAliases[] = "allow_incomplete_alias_check: true ";
const char kProvisional[] = "allow_provisional_firmware: true ";
const char kVlek[] = "allow_vlek: true max_vmpl: 1 ";
const char kDebug[] = "allow_debug: true ";

struct Row {
  const char* name;
  const char* report;
  std::vector<const char*> certificates;
  std::string allowances;
  const char* time;
  int exit;
  const char* platform;
  const char* decisive;    // "" when accepted
  const char* named = "";  // has to be among the failed ones too, where another one decides
};

const std::vector<Row>& Rows() {
  const char* const debug = "snp/go-sev-guest/attestation.bin";
  const char* const above = "snp/trustee/test-report.bin";
  const char* const loaded = "snp/trustee/test-vlek-report.bin";
  const char* const vcek = "snp/trustee/test-vcek.der";
  const char* const vlek = "snp/trustee/test-vlek.der";
  const char* const milan = "snp/roots/milan_ask_ark_asvk.pem";
  const std::vector<const char*> go = {"snp/go-sev-guest/vcek.testcer",
                                       "snp/roots/ask_ark_milan.pem"};
  const char* const day = "2024-06-01T00:00:00Z";
  const char* const year = "2025-06-01T00:00:00Z";
  const char* const later = "2026-06-01T00:00:00Z";
  const std::string lenient = std::string(kAliases) + kProvisional + kVlek;
  // Certificates of something else, under a policy that allows all that the report is.
  const auto wrong = [&](const char* name, const char* report, std::vector<const char*> with,
                         const char* decisive, const char* named) {
    return Row{name,     report,          std::move(with), lenient, year,
               kRefused, "sev-snp milan", decisive,        named};
  };
  const auto absent = [&](const char* name, const char* report, std::vector<const char*> with) {
    return Row{name, report,         std::move(with), lenient,
               year, kNotVerifiable, "sev-snp milan", "SNP_CHAIN"};
  };
  static const auto& rows = *new std::vector<Row>{
      {"GoSevGuestDebug", debug, go, std::string(kAliases) + kDebug, day, kOk, "sev-snp milan", ""},
      {"GoSevGuestDebugByDefault", debug, go, kAliases, day, kRefused, "sev-snp milan",
       "SNP_DEBUG"},
      {"VirteeMilan",
       "snp/virtee-sev/report_milan.hex",
       {"snp/virtee-sev/vcek_milan.der", milan},
       kAliases,
       day,
       kOk,
       "sev-snp milan",
       ""},
      {"TrusteeCurrentAboveReported",
       above,
       {vcek, milan},
       std::string(kAliases) + kProvisional,
       day,
       kOk,
       "sev-snp milan",
       ""},
      {"TrusteeCurrentAboveReportedByDefault",
       above,
       {vcek, milan},
       kAliases,
       day,
       kRefused,
       "sev-snp milan",
       "SNP_PROVISIONAL"},
      {"TrusteeVlek",
       loaded,
       {vlek, milan},
       std::string(kProvisional) + kVlek,
       year,
       kOk,
       "sev-snp milan",
       ""},
      {"TrusteeVlekAfterItsYear",
       loaded,
       {vlek, milan},
       std::string(kProvisional) + kVlek,
       "2025-12-11T00:00:00Z",
       kRefused,
       "sev-snp milan",
       "SNP_CHAIN_VALIDITY"},
      {"MicrosoftGenoaV3",
       "snp/ms-tee-av/genoa_attestation_report.bin",
       {"snp/ms-tee-av/genoa_vcek.pem", "snp/roots/ask_ark_genoa.pem"},
       "",
       later,
       kOk,
       "sev-snp genoa",
       ""},
      {"MicrosoftTurinV5",
       "snp/ms-tee-av/turin_attestation_report.bin",
       {"snp/ms-tee-av/turin_vcek.pem", "snp/roots/ask_ark_turin_vcek.pem"},
       "",
       later,
       kOk,
       "sev-snp turin",
       ""},
      wrong("InvalidLegacyVcek", above, {"snp/trustee/test-vcek-invalid-legacy.der", milan},
            "SNP_CHAIN", "SNP_SIGNATURE"),
      wrong("AnotherMachinesVcek", above, {"snp/virtee-sev/vcek_milan.der", milan}, "SNP_SIGNATURE",
            "SNP_CHIP_ID"),
      wrong("VlekForAVcekReport", above, {vlek, milan}, "SNP_SIGNATURE", "SNP_SIGNING_KEY"),
      wrong("VcekForAVlekReport", loaded, {vcek, milan}, "SNP_SIGNATURE", "SNP_SIGNING_KEY"),
      {"TurinVcekForAMilanReport",
       loaded,
       {"snp/virtee-sev/vcek_turin.der", "snp/roots/turin_ask_ark_asvk.pem"},
       lenient,
       year,
       kRefused,
       "sev-snp turin",
       "SNP_PRODUCT"},
      absent("VlekWithoutAsvk", loaded, {vlek, "snp/roots/ask_ark_milan.pem"}),
      absent("GenoaChainForAMilanVcek", above, {vcek, "snp/roots/ask_ark_genoa.pem"}),
  };
  return rows;
}

VerifyRun Verify(const Row& row, const std::vector<const char*>& certificates) {
  VerifyOptions options;
  options.evidence = VectorPathForTest(row.report);
  for (const char* path : certificates) options.collateral.push_back(VectorPathForTest(path));
  options.verification_time = row.time;
  return RunVerifyForTest(std::move(options), Policy(row.allowances));
}

class SnpVector : public testing::TestWithParam<Row> {};

TEST_P(SnpVector, HasItsResultAtItsTimeAndNoneWithoutCertificates) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = Verify(GetParam(), GetParam().certificates);
  EXPECT_EQ(run.exit, GetParam().exit) << run.text;
  EXPECT_EQ(run.platform, GetParam().platform);
  EXPECT_EQ(run.decisive, GetParam().decisive) << run.text;
  if (*GetParam().named != '\0') {
    EXPECT_THAT(run.failed, testing::Contains(std::string(GetParam().named))) << run.text;
  }
  if (GetParam().exit != kOk) return;
  const VerifyRun without = Verify(GetParam(), {});
  EXPECT_EQ(without.exit, kNotVerifiable) << without.text;
  EXPECT_EQ(without.decisive, "SNP_CERTIFICATE") << without.text;
}

INSTANTIATE_TEST_SUITE_P(Rows, SnpVector, testing::ValuesIn(Rows()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace caravan::cli
