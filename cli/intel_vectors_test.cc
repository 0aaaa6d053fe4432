// SPDX-License-Identifier: Apache-2.0
//
// Real TDX and SGX quotes with Intel's collateral of their day, through caravanctl verify.

#include <cstdlib>
#include <string>
#include <vector>

#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "base/file.h"
#include "cli/verify_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using attestation::VectorPathForTest;

constexpr char kPlatform[] = "platform { any_platform: true min_tcb_evaluation_number: 17 ";

// Accepts what a platform's TCB does not decide, with the TCB statuses of the default policy.
std::string Lenient(const std::string& statuses, const std::string& top = "") {
  const std::string platform = kPlatform + statuses + " } ";
  return "name: \"rows\" " + top + " tdx { " + platform +
         "any_measurement: true any_mr_service_td: true allow_sept_ve: true allow_debug: true } "
         "sgx { " +
         platform + "any_enclave: true }";
}

struct Row {
  const char* name;
  const char* quote;
  std::vector<const char*> collateral;
  const char* time;
  int exit;                  // under the default statuses
  const char* tcb_status;    // the claim, "" for none
  const char* failed_check;  // has to be among the failed ones; "" when accepted
  const char* platform;
  const char* status_name = "";  // names it for a policy that accepts it
};

const char kLunal[] = "tdx/lunal/collateral";
const char kRootCrl[] = "sgx/automata/intel_root_ca_crl.der";
const char kSigner[] = "sgx/automata/signing.der";
const char kOctober[] = "tdx/automata/evm/1025";

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
      {"DcapQvlTd10",
       "tdx/dcap-qvl/tdx_quote",
       {"tdx/dcap-qvl/tdx_quote_collateral.json"},
       "2025-06-20T00:00:00Z",
       kOk,
       "UpToDate",
       "",
       "tdx 1.0"},
      {"GoTdxGuestV5",
       "tdx/go-tdx-guest/quote_v5_sample.dat",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kOk,
       "UpToDate",
       "",
       "tdx 1.5"},
      {"GoTdxGuestV5OwnTcbInfo",
       "tdx/go-tdx-guest/quote_v5_sample.dat",
       {"tdx/go-tdx-guest/sample_tcbinfo_response_v5",
        "tdx/dcap-qvl/tdx_quote_outdated_collateral.json"},
       "2026-02-20T00:00:00Z",
       kOk,
       "UpToDate",
       "",
       "tdx 1.5"},
      {"Cos113Padded",
       "tdx/go-tdx-guest/ccel/cos-113-tdx-quote.dat",
       {kOctober, kRootCrl, kSigner},
       "2025-10-20T00:00:00Z",
       kOk,
       "UpToDate",
       "",
       "tdx 1.0"},
      {"AutomataV5",
       "tdx/automata/quotev5.dat",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kRefused,
       "OutOfDate",
       "TDX_TCB_STATUS",
       "tdx 1.5",
       "OUT_OF_DATE"},
      {"AzureTd",
       "tpm/az-tdx-vtpm/td-quote.bin",
       {kOctober, kRootCrl, kSigner},
       "2025-10-20T00:00:00Z",
       kRefused,
       "OutOfDate",
       "TDX_TCB_STATUS",
       "tdx 1.0",
       "OUT_OF_DATE"},
      {"TrusteeDebugTd",
       "tdx/trustee/tdx_quote_4.dat",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kRefused,
       "OutOfDate",
       "TDX_TCB_STATUS",
       "tdx 1.0",
       "OUT_OF_DATE"},
      {"DcapQvlOutdated",
       "tdx/dcap-qvl/tdx_quote_outdated",
       {"tdx/dcap-qvl/tdx_quote_outdated_collateral.json"},
       "2026-02-20T00:00:00Z",
       kRefused,
       "",
       "TDX_TCB_LEVEL",
       "tdx 1.5"},
      {"AutomataEvmV5",
       "tdx/automata/evm/quotes/tdx_quote_5.dat",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kRefused,
       "",
       "TDX_TCB_LEVEL",
       "tdx 1.5"},
      {"GoTdxGuestSprE4",
       "tdx/go-tdx-guest/tdx_prod_quote_SPR_E4.dat",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kRefused,
       "",
       "TDX_TCB_LEVEL",
       "tdx 1.0"},
      {"DcapQvlSgx",
       "sgx/dcap-qvl/sgx_quote",
       {"sgx/dcap-qvl/sgx_quote_collateral.json"},
       "2025-06-20T00:00:00Z",
       kRefused,
       "ConfigurationAndSWHardeningNeeded",
       "SGX_TCB_STATUS",
       "sgx",
       "CONFIGURATION_AND_SW_HARDENING_NEEDED"},
      {"AutomataSgx",
       "tdx/automata/quotev3.hex",
       {"tdx/automata/evm/0825", kRootCrl, kSigner},
       "2025-08-20T00:00:00Z",
       kOk,
       "SWHardeningNeeded",
       "",
       "sgx"},
      {"OpenEnclaveOtherFmspc",
       "tdx/openenclave/tdx_quote",
       {"tdx/openenclave/tdx_endorsement_data.bin"},
       "2025-03-01T00:00:00Z",
       kRefused,
       "",
       "TDX_TCB_INFO",
       "tdx 1.0"},
      {"SgxQuoteTdxCollateral",
       "sgx/dcap-qvl/sgx_quote",
       {kLunal},
       "2026-03-20T00:00:00Z",
       kRefused,
       "",
       "SGX_TCB_INFO",
       "sgx"},
  };
  return rows;
}

VerifyRun Verify(const std::string& quote, const std::vector<std::string>& collateral,
                 const std::string& time, const std::string& policy, const std::string& log = "") {
  VerifyOptions options;
  options.evidence = VectorPathForTest(quote);
  for (const std::string& path : collateral) options.collateral.push_back(VectorPathForTest(path));
  options.verification_time = time;
  if (!log.empty()) options.event_log = VectorPathForTest(log);
  return RunVerifyForTest(std::move(options), policy);
}

std::vector<std::string> Strings(const std::vector<const char*>& texts) {
  return {texts.begin(), texts.end()};
}

class IntelVector : public testing::TestWithParam<Row> {};

TEST_P(IntelVector, HasItsResultAtItsTime) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  const VerifyRun run = Verify(row.quote, Strings(row.collateral), row.time, Lenient(""));
  EXPECT_EQ(run.exit, row.exit) << run.text;
  EXPECT_EQ(run.tcb_status, row.tcb_status) << run.text;
  EXPECT_EQ(run.platform, row.platform);
  if (row.exit == kOk) {
    EXPECT_TRUE(run.failed.empty()) << run.text;
  } else {
    EXPECT_THAT(run.failed, testing::Contains(std::string(row.failed_check))) << run.text;
  }
}

TEST_P(IntelVector, PassesWhereThePolicyNamesItsStatus) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  if (*row.status_name == '\0') return;
  const std::string accepted = std::string("accepted_tcb { status: ") + row.status_name + " }";
  const VerifyRun run = Verify(row.quote, Strings(row.collateral), row.time, Lenient(accepted));
  EXPECT_EQ(run.exit, kOk) << run.text;
}

TEST_P(IntelVector, CannotBeVerifiedOutsideItsTime) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  if (row.exit != kOk) return;
  for (const char* time : {"2024-12-01T00:00:00Z", "2027-12-01T00:00:00Z"}) {
    const VerifyRun run = Verify(row.quote, Strings(row.collateral), time, Lenient(""));
    EXPECT_NE(run.exit, kOk) << time << run.text;
  }
  const VerifyRun alone = Verify(row.quote, {}, row.time, Lenient(""));
  EXPECT_EQ(alone.exit, kNotVerifiable) << alone.text;
}

// A sampled sweep: one bit of every 61st byte of a quote that passes, and of its collateral.
TEST_P(IntelVector, IsRefusedWithAFlippedBitInAnySignedByte) {
  CARAVAN_REQUIRE_VECTORS();
  const Row& row = GetParam();
  if (row.exit != kOk) return;
  const auto bytes = attestation::ReadVectorForTest(row.quote);
  const auto evidence = attestation::DetectEvidence(*bytes);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  attestation::Endorsements endorsements;
  for (const char* path : row.collateral) {
    const auto files = base::ListFiles(VectorPathForTest(path));
    ASSERT_TRUE(files.ok()) << files.status();
    for (const std::string& file : *files) {
      const auto part = base::ReadFile(file, attestation::kMaxInputSize);
      ASSERT_TRUE(part.ok()) << part.status();
      ASSERT_TRUE(attestation::ParseEndorsements(*part, &endorsements).ok()) << file;
    }
  }
  const auto policy = attestation::ParsePolicy(Lenient(""), "p");
  ASSERT_TRUE(policy.ok()) << policy.status();
  absl::Time time;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, row.time, &time, &error));
  const auto accepted = [&](const attestation::EvidenceSet& set,
                            const attestation::Endorsements& with) {
    return attestation::VerifyStored(set, with, *policy,
                                     attestation::ReportDataExpectation::NotChecked(), time)
        .accepted();
  };
  ASSERT_TRUE(accepted(*evidence, endorsements));
  // Everything up to the PEM chain: header, body, signatures, keys, QE report, their lengths.
  const std::string& report = evidence->items[0].report;
  const size_t signed_end = report.find("-----BEGIN");
  ASSERT_NE(signed_end, std::string::npos);
  int flips = 0;
  for (size_t at = 0; at < signed_end; at += 61, ++flips) {
    attestation::EvidenceSet changed = *evidence;
    std::string& target = changed.items[0].report;
    target[at] = static_cast<char>(target[at] ^ (1 << (at % 8)));
    EXPECT_FALSE(accepted(changed, endorsements)) << at;
  }
  EXPECT_GT(flips, 15);
  // Documents about other platforms, or a second one about this, may change without a word: they
  // go, so that one of each kind is left that has to stand as it is.
  std::vector<std::string>& documents = endorsements.documents;
  for (size_t i = documents.size(); i-- > 0;) {
    attestation::Endorsements without = endorsements;
    without.documents.erase(without.documents.begin() + static_cast<ptrdiff_t>(i));
    if (accepted(*evidence, without)) documents = without.documents;
  }
  ASSERT_EQ(documents.size(), 2u) << "TCB info and QE identity";
  for (std::string& target : documents) {
    for (size_t at = 15; at < target.size(); at += 211) {
      target[at] = static_cast<char>(target[at] ^ 1);
      EXPECT_FALSE(accepted(*evidence, endorsements)) << at;
      target[at] = static_cast<char>(target[at] ^ 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, IntelVector, testing::ValuesIn(Rows()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(EventLog, HasToReplayToTheQuotesRegisters) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string cos = "tdx/go-tdx-guest/ccel/cos-113-tdx-quote.dat";
  const std::vector<std::string> october = {kOctober, kRootCrl, kSigner};
  const VerifyRun good = Verify(cos, october, "2025-10-20T00:00:00Z", Lenient(""),
                                "tdx/go-tdx-guest/ccel/ccel_data.dat");
  EXPECT_EQ(good.exit, kOk) << good.text;
  const VerifyRun other =
      Verify(cos, october, "2025-10-20T00:00:00Z", Lenient(""), "tdx/trustee/CCEL_data_ovmf");
  EXPECT_EQ(other.exit, kRefused) << other.text;
  EXPECT_THAT(other.failed, testing::ElementsAre("TDX_EVENT_LOG"));
  const VerifyRun sgx = Verify("sgx/dcap-qvl/sgx_quote", {"sgx/dcap-qvl/sgx_quote_collateral.json"},
                               "2025-06-20T00:00:00Z", Lenient(""), "tdx/trustee/CCEL_data_ovmf");
  EXPECT_THAT(sgx.failed, testing::Contains("TDX_EVENT_LOG"));
}

TEST(DebugTd, IsRefusedAsOneUnlessThePolicyAllowsIt) {
  CARAVAN_REQUIRE_VECTORS();
  std::string policy = Lenient("accepted_tcb { status: OUT_OF_DATE }");
  const auto verify = [&policy] {
    return Verify("tdx/trustee/tdx_quote_4.dat", {kLunal}, "2026-03-20T00:00:00Z", policy);
  };
  EXPECT_EQ(verify().exit, kOk);
  policy.replace(policy.find("allow_debug: true"), 17, "allow_debug: false");
  const VerifyRun refused = verify();
  EXPECT_EQ(refused.exit, kRefused) << refused.text;
  EXPECT_THAT(refused.failed, testing::ElementsAre("TDX_DEBUG")) << refused.text;
}

// One of Intel's samples with the collateral beside it.
VerifyRun VerifySample(const std::string& folder, const std::string& policy) {
  const std::string base = "sgx-tdx-synthetic/intel-qvl/sampleData/" + folder;
  std::vector<std::string> collateral;
  for (const char* file :
       {"pckCert.pem", "pckSignChain.pem", "tcbSignChain.pem", "trustedRootCaCert.pem",
        "tcbInfo.json", "qeIdentity.json", "rootCaCrl.der", "intermediateCaCrl.der"}) {
    collateral.push_back(base + file);
  }
  return Verify(base + "quote.dat", collateral, "2025-01-01T00:00:00Z", policy);
}

// Lenient() with a sample's own root pinned, and collateral of any age.
std::string PinnedSample(const std::string& spki_sha256) {
  std::string policy =
      Lenient("", "allow_insecure: true insecure_root_spki_sha256: \"" + spki_sha256 + "\"");
  for (size_t at; (at = policy.find("min_tcb_evaluation_number: 17")) != std::string::npos;) {
    policy.replace(at, 29, "any_tcb_evaluation_number: true");
  }
  return policy;
}

// Intel's synthetic samples: the genuine names under other keys.
TEST(IntelSamples, AreRefusedByTheirRootsKey) {
  CARAVAN_REQUIRE_VECTORS();
  for (const std::string folder : {"", "tdx/"}) {
    const VerifyRun run = VerifySample(folder, Lenient(""));
    EXPECT_EQ(run.exit, kRefused) << run.text;
    EXPECT_THAT(run.failed,
                testing::Contains(std::string(folder.empty() ? "SGX_ROOT" : "TDX_ROOT")));
  }
}

TEST(IntelSamples, PassUnderTheirOwnRootAsInsecure) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = VerifySample(
      "", PinnedSample("6a3b29fc4ae6ef0e0a9241dc63aeb2a361b15af97a634803dcda3d7358a3e38a"));
  EXPECT_EQ(run.exit, kOk) << run.text;
  EXPECT_EQ(run.platform, "insecure sgx");
  EXPECT_EQ(run.tcb_status, "UpToDate");
}

// The TDX sample cannot pass: its QE identity describes another quoting enclave than its quote's.
TEST(IntelSamples, OfTdxAreRefusedByTheirQeIdentityUnderTheirOwnRoot) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = VerifySample(
      "tdx/", PinnedSample("b4709133063051f70429aa41e5bd26c6efa0b3cced38fb5935bcf3e27df8fc1a"));
  EXPECT_EQ(run.exit, kRefused) << run.text;
  EXPECT_THAT(run.failed, testing::ElementsAre("TDX_QE_IDENTITY_MATCH")) << run.text;
  EXPECT_EQ(run.decisive, "TDX_QE_IDENTITY_MATCH");
}

}  // namespace
}  // namespace caravan::cli
