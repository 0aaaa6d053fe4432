// SPDX-License-Identifier: Apache-2.0
//
// vTPM evidence of real Azure machines, through caravanctl verify, at a fixed time.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attestation/sev_snp/test_vectors.h"
#include "cli/verify_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using attestation::VectorPathForTest;
using testing::Contains;
using testing::ElementsAre;

// Accepts what these machines are; nothing about the vTPM itself is waived but its measurement.
std::string Policy(const std::string& statuses = "accepted_tcb { status: OUT_OF_DATE } ",
                   const std::string& measurement = "any_measurement: true") {
  return "name: \"azure\" vtpm { " + measurement +
         " snp { any_measurement: true any_platform: true any_tcb: true allow_missing_crl: true "
         "allow_smt: true allow_provisional_firmware: true allow_incomplete_alias_check: true } "
         "tdx { any_measurement: true allow_sept_ve: true platform { any_platform: true "
         "min_tcb_evaluation_number: 17 accepted_tcb { status: UP_TO_DATE } " +
         statuses + "} } }";
}

VerifyRun Verify(const std::string& evidence, const std::vector<const char*>& collateral,
                 const std::string& time, const std::string& policy,
                 const std::string& kind = "auto") {
  VerifyOptions options;
  options.evidence = evidence;
  options.kind = kind;
  for (const char* path : collateral) options.collateral.push_back(VectorPathForTest(path));
  options.verification_time = time;
  return RunVerifyForTest(std::move(options), policy);
}

const std::vector<const char*> kMilan = {"snp/roots/milan_ask_ark_asvk.pem"};
const std::vector<const char*> kGenoa = {"snp/roots/ask_ark_genoa.pem"};
const std::vector<const char*> kOctober = {
    "tdx/automata/evm/1025", "sgx/automata/intel_root_ca_crl.der", "sgx/automata/signing.der"};

struct Row {
  const char* name;
  const char* evidence;
  const std::vector<const char*>* collateral;
  const char* time;
  const char* platform;
};

class VtpmVector : public testing::TestWithParam<Row> {};

TEST_P(VtpmVector, PassesUnderThePolicyThatAllowsWhatItIs) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  const VerifyRun run =
      Verify(VectorPathForTest(row.evidence), *row.collateral, row.time, Policy());
  EXPECT_EQ(run.exit, kOk) << run.text;
  EXPECT_EQ(run.platform, row.platform);
}

TEST_P(VtpmVector, IsRefusedWithOtherRegisters) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  const std::string other =
      "measurements { name: \"m\" pcrs { index: 7 sha256: \"" + std::string(64, '1') + "\" } }";
  const VerifyRun run = Verify(VectorPathForTest(row.evidence), *row.collateral, row.time,
                               Policy("accepted_tcb { status: OUT_OF_DATE } ", other));
  EXPECT_EQ(run.exit, kRefused) << run.text;
  EXPECT_THAT(run.failed, ElementsAre("VTPM_MEASUREMENT"));
}

TEST_P(VtpmVector, CannotBeVerifiedWithoutCollateral) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run =
      Verify(VectorPathForTest(GetParam().evidence), {}, GetParam().time, Policy());
  EXPECT_EQ(run.exit, kNotVerifiable) << run.text;
}

constexpr char kJune[] = "2025-06-01T00:00:00Z";
INSTANTIATE_TEST_SUITE_P(
    Azure, VtpmVector,
    testing::Values(
        Row{"SnpV0", "tpm/az-snp-vtpm/evidence-v0.json", &kMilan, kJune, "vtpm on sev-snp milan"},
        Row{"SnpV1", "tpm/az-snp-vtpm/evidence-v1.json", &kMilan, kJune, "vtpm on sev-snp milan"},
        Row{"SnpV2", "tpm/az-snp-vtpm/evidence-v2.json", &kMilan, kJune, "vtpm on sev-snp milan"},
        Row{"SnpGenoa", "tpm/az-snp-vtpm/evidence-genoa.json", &kGenoa, kJune,
            "vtpm on sev-snp genoa"},
        Row{"SnpLive", "tpm/lunal-az_snp/live-evidence.json", &kMilan, kJune,
            "vtpm on sev-snp milan"},
        Row{"SnpWrapped", "tpm/attestation-rs/milan-v3-attestation.json", &kMilan, kJune,
            "vtpm on sev-snp milan"},
        Row{"TdxFolder", "tpm/az-tdx-vtpm", &kOctober, "2025-10-20T00:00:00Z", "vtpm on tdx 1.0"},
        Row{"TdxV0", "tpm/az-tdx-vtpm/evidence-v0.json", &kOctober, "2025-10-20T00:00:00Z",
            "vtpm on tdx 1.0"},
        Row{"TdxV1", "tpm/az-tdx-vtpm/evidence-v1.json", &kOctober, "2025-10-20T00:00:00Z",
            "vtpm on tdx 1.0"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(AzureTdx, IsRefusedAsOutOfDateByDefault) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = Verify(VectorPathForTest("tpm/az-tdx-vtpm"), kOctober,
                               "2025-10-20T00:00:00Z", Policy(""), "tpm");
  EXPECT_EQ(run.exit, kRefused) << run.text;
  EXPECT_THAT(run.failed, ElementsAre("TDX_TCB_STATUS"));
}

// The folder's quote is by the attestation key of another machine than its report.
TEST(AzureSnp, IsRefusedWithAQuoteByAnotherKey) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = Verify(VectorPathForTest("tpm/az-snp-vtpm"),
                               {"tpm/az-snp-vtpm/vcek.pem", "snp/roots/milan_ask_ark_asvk.pem"},
                               kJune, Policy(), "tpm");
  EXPECT_EQ(run.exit, kRefused) << run.text;
  EXPECT_THAT(run.failed, Contains("VTPM_SIGNATURE"));
}

// That report with the quote that belongs to it.
TEST(AzureSnp, PassesFromAFolder) {
  CARAVAN_REQUIRE_VECTORS();
  std::string folder = testing::TempDir() + "/azure_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* file : {"hcl-report.bin", "quote.bin"}) {
    std::filesystem::create_symlink(
        std::filesystem::absolute(VectorPathForTest(std::string("tpm/az-snp-vtpm/") + file)),
        folder + "/" + file);
  }
  const VerifyRun run = Verify(
      folder, {"tpm/az-snp-vtpm/vcek.pem", "snp/roots/milan_ask_ark_asvk.pem"}, kJune, Policy());
  EXPECT_EQ(run.exit, kOk) << run.text;
}

TEST(AzureSnp, IsNothingWithoutAQuote) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run =
      Verify(VectorPathForTest("tpm/az-snp-vtpm/hcl-report.bin"), kMilan, kJune, Policy());
  EXPECT_EQ(run.exit, kUsage) << run.text;
  EXPECT_THAT(run.text, testing::HasSubstr("as old as the last boot"));
}

}  // namespace
}  // namespace caravan::cli
