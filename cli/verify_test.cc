// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/sev_snp/test_vectors.h"
#include "base/hex.h"
#include "cli/policy_decision.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using testing::HasSubstr;

class VerifyCommand : public testing::Test {
 protected:
  VerifyCommand() {
    attestation::InsecureAttesterOptions options;
    options.chip_id = attestation::DeriveInsecureChipId("node-0");
    attestation::ReportData data;
    data.bytes.fill(0xAB);
    const auto set = (*attestation::MakeInsecureAttester(root_, options, kNow))->Collect(data);
    Write("report.bin", set->items[0].report);
    Write("vcek.der", set->items[0].certificates[0]);
    const auto pem = root_.ToPem();
    Write("chain.pem", pem->chain);
    Write("crl.pem", pem->crl);
    Write("policy.textproto", Policy("any_measurement: true"));
    options_.evidence = Path("report.bin");
    options_.collateral = {Path("vcek.der"), Path("chain.pem"), Path("crl.pem")};
    options_.policy = Path("policy.textproto");
    options_.report_data = std::string(128, 'a');
    for (size_t i = 1; i < 128; i += 2) options_.report_data[i] = 'b';
    options_.verification_time = "2026-05-28T20:26:40Z";
  }

  std::string Policy(const std::string& measurement) {
    return "name: \"trial\" allow_insecure: true insecure_root_spki_sha256: \"" +
           base::ToHex(root_.SpkiSha256()) +
           "\" snp { require_insecure_crl: true any_platform: true any_tcb: true " + measurement +
           " }";
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  int Run(bool json = false) {
    out_.str("");
    err_.str("");
    return RunVerify({.out = out_, .err = err_, .json = json}, options_);
  }
  static std::string MakeFolder() {
    std::string name = testing::TempDir() + "/verify_XXXXXX";
    return mkdtemp(name.data()) == nullptr ? "" : name;
  }

  const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);
  const attestation::InsecureRoot root_ = *attestation::InsecureRoot::Create(kNow);
  const std::string folder_ = MakeFolder();
  VerifyOptions options_;
  std::ostringstream out_, err_;
};

TEST_F(VerifyCommand, AcceptsWithZero) {
  EXPECT_EQ(Run(), kOk) << err_.str();
  EXPECT_EQ(out_.str().find("warning  insecure-software milan  policy trial@sha256:"), 0u)
      << out_.str();
  EXPECT_EQ(err_.str(), "");
}

TEST_F(VerifyCommand, TakesAFolderOfCollateral) {
  Write("report.bin.pem", "");
  unlink(Path("report.bin.pem").c_str());
  const std::string nested = MakeFolder();
  for (const char* name : {"vcek.der", "chain.pem", "crl.pem"}) {
    ASSERT_EQ(rename(Path(name).c_str(), (nested + "/" + name).c_str()), 0);
  }
  options_.collateral = {nested};
  EXPECT_EQ(Run(), kOk) << err_.str();
}

// As `evidence collect --out FILE` leaves them.
TEST_F(VerifyCommand, TakesAFolderOfAReportAndItsCertificates) {
  const std::string nested = MakeFolder();
  ASSERT_EQ(rename(Path("report.bin").c_str(), (nested + "/report.bin").c_str()), 0);
  ASSERT_EQ(rename(Path("chain.pem").c_str(), (nested + "/report.bin.pem").c_str()), 0);
  options_.evidence = nested;
  options_.collateral = {Path("vcek.der"), Path("crl.pem")};
  EXPECT_EQ(Run(), kOk) << err_.str();
  std::ofstream(nested + "/notes.txt") << "hello";
  EXPECT_EQ(Run(), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("notes.txt"));
}

TEST_F(VerifyCommand, TakesAReportInsideJson) {
  std::ifstream file(Path("report.bin"), std::ios::binary);
  const std::string report((std::istreambuf_iterator<char>(file)), {});
  Write("report.json", "{\"attestation_report\":\"" + absl::BytesToHexString(report) + "\"}");
  options_.evidence = Path("report.json");
  EXPECT_EQ(Run(), kOk) << err_.str();
}

TEST_F(VerifyCommand, FailsWithFourAndTheReason) {
  Write("policy.textproto",
        Policy("measurements { name: \"m\" sha384: \"" + std::string(96, '1') + "\" }"));
  EXPECT_EQ(Run(), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("caravanctl: verifying insecure-software milan: measurement"));
  EXPECT_THAT(err_.str(), HasSubstr("[SNP_MEASUREMENT]\nhint: "));
}

TEST_F(VerifyCommand, RefusesOtherReportDataWithFour) {
  options_.report_data = std::string(128, '0');
  EXPECT_EQ(Run(), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("[SNP_REPORT_DATA]"));
}

TEST_F(VerifyCommand, CouldNotVerifyWithNine) {
  options_.collateral.pop_back();
  EXPECT_EQ(Run(), kNotVerifiable);
  EXPECT_THAT(err_.str(), HasSubstr("[SNP_CRL]"));
  options_.collateral = {};
  EXPECT_EQ(Run(), kNotVerifiable);
  EXPECT_THAT(err_.str(), HasSubstr("[SNP_CERTIFICATE]"));
}

TEST_F(VerifyCommand, RefusesAKindThatThePolicyHasNoRulesForWithFour) {
  options_.kind = "tpm";
  EXPECT_EQ(Run(), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("[VTPM_POLICY]"));
}

TEST_F(VerifyCommand, SaysThatReportDataWasNotChecked) {
  options_.report_data.clear();
  EXPECT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("nothing shows that the evidence is fresh"));
}

TEST_F(VerifyCommand, AcceptsNothingWithoutAPolicy) {
  options_.policy.clear();
  EXPECT_EQ(Run(), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("hint: without --policy nothing is accepted"));
}

TEST_F(VerifyCommand, RefusesUnusableOptionsWithTwo) {
  const VerifyOptions good = options_;
  const auto expect_usage = [&](const std::string& reason) {
    EXPECT_EQ(Run(), kUsage) << reason;
    EXPECT_THAT(err_.str(), HasSubstr(reason));
    options_ = good;
  };
  options_.kind = "sev";
  expect_usage("--kind is \"sev\"");
  options_.report_data = "abc";
  expect_usage("--report-data wants 128 hexadecimal digits");
  options_.report_data = std::string(64, 'a');
  expect_usage("a device's nonce, but the evidence is a CPU's");
  options_.also = {Path("absent-device.json")};
  expect_usage("absent-device.json");
  options_.verification_time = "yesterday";
  expect_usage("--verification-time");
  options_.evidence = Path("absent");
  expect_usage("absent");
  options_.evidence = Path("chain.pem");
  expect_usage("look like no known report");
  options_.collateral = {Path("report.bin")};
  expect_usage("report.bin: neither pem");
  options_.policy = Path("absent.textproto");
  expect_usage("absent.textproto");
  Write("policy.textproto", "name: \"p\"\nbad: 1\n");
  expect_usage("policy.textproto:2:");
}

TEST_F(VerifyCommand, WritesOneJsonDocumentInEveryCase) {
  simdjson::dom::parser parser;
  EXPECT_EQ(Run(true), kOk);
  simdjson::dom::element document = parser.parse(out_.str());
  EXPECT_EQ(std::string_view(document["schema"]), "caravan.verify/1");
  EXPECT_EQ(std::string_view(document["verdict"]), "warning");
  EXPECT_TRUE(bool(document["insecure"]));
  EXPECT_GT(simdjson::dom::array(document["checks"]).size(), 20u);
  EXPECT_EQ(std::string_view(document["claims"]["vmpl"]), "0");

  options_.report_data = std::string(128, '0');
  EXPECT_EQ(Run(true), kRefused);
  document = parser.parse(out_.str());
  EXPECT_EQ(std::string_view(document["verdict"]), "contraindicated");
  EXPECT_FALSE(bool(document["accepted"]));

  options_.evidence = Path("absent");
  EXPECT_EQ(Run(true), kUsage);
  document = parser.parse(out_.str());
  EXPECT_EQ(std::string_view(document["schema"]), "caravan.verify/1");
  EXPECT_FALSE(std::string_view(document["error"]["message"]).empty());
}

TEST_F(VerifyCommand, JudgesARealReportAtItsTime) {
  CARAVAN_REQUIRE_VECTORS();
  Write("policy.textproto",
        "name: \"genoa\" snp { any_measurement: true any_platform: true allow_missing_crl: true "
        "allow_smt: true tcb_floors { product: GENOA snp: 23 microcode: 84 } }");
  options_.evidence = attestation::VectorPathForTest("snp/ms-tee-av/genoa_attestation_report.bin");
  options_.collateral = {attestation::VectorPathForTest("snp/ms-tee-av/genoa_vcek.pem"),
                         attestation::VectorPathForTest("snp/roots/ask_ark_genoa.pem")};
  options_.report_data = std::string(128, '0');
  options_.verification_time = "2026-06-01T00:00:00Z";
  EXPECT_EQ(Run(), kOk) << err_.str();
  EXPECT_EQ(out_.str().find("affirming  sev-snp genoa"), 0u) << out_.str();
}

// A test's own key, as anybody would make one.
std::string MakeSigningKey() {
  EVP_PKEY* key = EVP_EC_gen("P-384");
  BIO* bio = BIO_new(BIO_s_mem());
  EXPECT_EQ(PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  EVP_PKEY_free(key);
  return pem;
}

TEST_F(VerifyCommand, SignsATokenForOthersAndKeepsItsExitCodes) {
  Write("key.pem", MakeSigningKey());
  ASSERT_EQ(chmod(Path("key.pem").c_str(), 0600), 0);
  options_.ear = {.key = Path("key.pem"), .nonce = "00112233445566778899"};
  const std::pair<std::string, std::pair<int, std::string>> rows[] = {
      {"any_measurement: true", {kOk, "warning"}},
      {"measurements { name: \"x\" sha384: \"" + std::string(96, '1') + "\" }",
       {kRefused, "contraindicated"}}};
  for (const auto& [measurement, expected] : rows) {
    Write("policy.textproto", Policy(measurement));
    EXPECT_EQ(Run(), expected.first);
    const std::string token = out_.str();
    const size_t first = token.find('.'), second = token.find('.', first + 1);
    ASSERT_NE(second, std::string::npos) << token;
    EXPECT_EQ(token.back(), '\n');
    std::string claims;
    ASSERT_TRUE(absl::WebSafeBase64Unescape(token.substr(first + 1, second - first - 1), &claims));
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    ASSERT_FALSE(parser.parse(claims).get(json)) << claims;
    EXPECT_EQ(std::string_view(json["ear_status"]), expected.second);
    EXPECT_EQ(std::string_view(json["eat_nonce"]), "ABEiM0RVZneImQ==");
    EXPECT_EQ(int64_t(json["submods"]["sev-snp"]["ear_trustworthiness_vector"]["hardware"]), -33);
    EXPECT_EQ(std::string_view(json["caravan"]["appraised_at"]), "2026-05-28T20:26:40+00:00");
  }
}

// policy explain --evidence.
TEST_F(VerifyCommand, HasARuleOfThePolicyBehindWhatDecided) {
  const auto explain = [this](bool json) {
    out_.str("");
    return RunPolicyDecision({.out = out_, .err = err_, .json = json}, options_);
  };
  EXPECT_EQ(explain(false), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("no rule refuses it"));
  EXPECT_THAT(out_.str(), HasSubstr("snp.measurements, snp.any_measurement"));
  Write("policy.textproto",
        Policy("measurements { name: \"other\" sha384: \"" + std::string(96, '1') + "\" }"));
  EXPECT_EQ(explain(false), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("decided by SNP_MEASUREMENT: measurement "));
  EXPECT_THAT(out_.str(), HasSubstr("rule: snp.measurements, snp.any_measurement\n"));
  EXPECT_EQ(explain(true), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"schema\": \"caravan.decision/1\""));
  EXPECT_THAT(out_.str(), HasSubstr("\"snp.any_measurement\""));
  // No rule is about what differs now.
  options_.report_data.back() = 'c';
  EXPECT_EQ(explain(false), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("decided by SNP_REPORT_DATA"));
  EXPECT_THAT(out_.str(), HasSubstr("rule: none\n"));
  options_.evidence = Path("absent");
  EXPECT_EQ(explain(false), kUsage);
}

TEST_F(VerifyCommand, RefusesATokenThatItCannotSign) {
  Write("key.pem", MakeSigningKey());
  Write("broken.pem", "-----BEGIN PUBLIC KEY-----\n!\n");
  ASSERT_EQ(chmod(Path("broken.pem").c_str(), 0600), 0);
  const std::pair<EarFlags, const char*> rows[] = {
      {{Path("absent.pem"), ""}, "absent.pem"},
      {{Path("broken.pem"), ""}, "broken.pem: signing key"},
      {{Path("key.pem"), ""}, "chmod 600"},
      {{"", "0011223344556677"}, "--ear-key"},
  };
  ASSERT_EQ(chmod(Path("key.pem").c_str(), 0644), 0);
  for (const auto& [flags, why] : rows) {
    options_.ear = flags;
    EXPECT_EQ(Run(), kUsage) << why;
    EXPECT_THAT(err_.str(), HasSubstr(why));
  }
  ASSERT_EQ(chmod(Path("key.pem").c_str(), 0600), 0);
  for (const char* nonce : {"00", "xyz", "001122334455667"}) {
    options_.ear = {.key = Path("key.pem"), .nonce = nonce};
    EXPECT_EQ(Run(), kUsage) << nonce;
    EXPECT_THAT(err_.str(), HasSubstr("--nonce"));
  }
}

}  // namespace
}  // namespace caravan::cli
