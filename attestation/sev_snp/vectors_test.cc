// SPDX-License-Identifier: Apache-2.0
//
// Real reports of Milan, Genoa and Turin, with AMD's chains, at a fixed time. AMD's revocation
// lists are not among the vectors, so every policy here waives them in so many words.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

struct Vector {
  const char* name;
  const char* report;
  std::vector<const char*> certificates;  // below snp/
  const char* time;
  // What a policy has to allow beyond kBase for the report to pass.
  std::vector<const char*> allowances;
  const char* platform;
  Verdict verdict;
};

// Everything that differs between the vectors is left strict.
constexpr char kBase[] =
    "any_measurement: true any_platform: true any_tcb: true allow_missing_crl: true "
    "allow_smt: true ";

const std::vector<Vector>& Vectors() {
  static const auto* vectors = new std::vector<Vector>{
      {"GoSevGuestMilanV2Debug",
       "snp/go-sev-guest/attestation.bin",
       {"snp/go-sev-guest/vcek.testcer", "snp/roots/ask_ark_milan.pem"},
       "2024-06-01T00:00:00Z",
       {"allow_debug: true", "allow_incomplete_alias_check: true"},
       "sev-snp milan",
       Verdict::kAffirming},
      {"VirteeMilanV2",
       "snp/virtee-sev/report_milan.hex",
       {"snp/virtee-sev/vcek_milan.der", "snp/roots/milan_ask_ark_asvk.pem"},
       "2024-06-01T00:00:00Z",
       {"allow_incomplete_alias_check: true"},
       "sev-snp milan",
       Verdict::kAffirming},
      {"TrusteeMilanV2CurrentAboveReported",
       "snp/trustee/test-report.bin",
       {"snp/trustee/test-vcek.der", "snp/roots/milan_ask_ark_asvk.pem"},
       "2024-06-01T00:00:00Z",
       {"allow_incomplete_alias_check: true", "allow_provisional_firmware: true"},
       "sev-snp milan",
       Verdict::kAffirming},
      {"TrusteeMilanV3Vlek",
       "snp/trustee/test-vlek-report.bin",
       {"snp/trustee/test-vlek.der", "snp/roots/milan_ask_ark_asvk.pem"},
       "2025-06-01T00:00:00Z",
       {"allow_vlek: true", "max_vmpl: 1", "allow_provisional_firmware: true"},
       "sev-snp milan",
       Verdict::kAffirming},
      {"MicrosoftGenoaV3",
       "snp/ms-tee-av/genoa_attestation_report.bin",
       {"snp/ms-tee-av/genoa_vcek.pem", "snp/roots/ask_ark_genoa.pem"},
       "2026-06-01T00:00:00Z",
       {},
       "sev-snp genoa",
       Verdict::kAffirming},
      // PLATFORM_INFO bit 6 is set and has no published meaning: a warning, not a refusal.
      {"MicrosoftTurinV5",
       "snp/ms-tee-av/turin_attestation_report.bin",
       {"snp/ms-tee-av/turin_vcek.pem", "snp/roots/ask_ark_turin_vcek.pem"},
       "2026-06-01T00:00:00Z",
       {},
       "sev-snp turin",
       Verdict::kWarning},
  };
  return *vectors;
}

absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

Policy MakePolicy(const std::string& snp) {
  absl::StatusOr<Policy> policy =
      ParsePolicy(absl::StrCat("name: \"vectors\" snp { ", snp, " }"), "vectors.textproto");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *policy : Policy();
}

std::string Failures(const Appraisal& appraisal) {
  std::string text(Name(appraisal.verdict));
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed || check.outcome == Outcome::kSkipped) continue;
    absl::StrAppend(&text, "\n  ", check.id, ": ", check.detail);
  }
  return text;
}

class RealReport : public testing::TestWithParam<Vector> {
 protected:
  void Load() {
    const auto bytes = ReadVectorForTest(GetParam().report);
    ASSERT_TRUE(bytes.has_value()) << GetParam().report;
    auto evidence = DetectEvidence(*bytes);
    ASSERT_TRUE(evidence.ok()) << evidence.status();
    evidence_ = *std::move(evidence);
    for (const char* path : GetParam().certificates) {
      const auto certificate = ReadVectorForTest(path);
      ASSERT_TRUE(certificate.has_value()) << path;
      const absl::Status added = ParseEndorsements(*certificate, &endorsements_);
      ASSERT_TRUE(added.ok()) << added;
    }
    const std::string_view data = std::string_view(evidence_.items[0].report).substr(0x50, 64);
    std::copy(data.begin(), data.end(), expected_.bytes.begin());
    for (const char* allowance : GetParam().allowances) absl::StrAppend(&allowed_, allowance, " ");
  }

  Appraisal Appraise(const std::string& snp) const {
    return Verify(evidence_, endorsements_, MakePolicy(snp), expected_, At(GetParam().time));
  }

  EvidenceSet evidence_;
  Endorsements endorsements_;
  ReportData expected_;
  std::string allowed_ = kBase;
};

TEST_P(RealReport, PassesUnderThePolicyThatAllowsWhatItIs) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  const Appraisal appraisal = Appraise(allowed_);
  EXPECT_EQ(appraisal.verdict, GetParam().verdict) << Failures(appraisal);
  EXPECT_EQ(appraisal.platform, GetParam().platform);
  EXPECT_FALSE(appraisal.insecure);
}

TEST_P(RealReport, IsRefusedWithoutEachAllowance) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  for (const char* left_out : GetParam().allowances) {
    std::string snp = kBase;
    for (const char* allowance : GetParam().allowances) {
      if (allowance != left_out) absl::StrAppend(&snp, allowance, " ");
    }
    const Appraisal appraisal = Appraise(snp);
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated) << left_out << Failures(appraisal);
  }
}

TEST_P(RealReport, CouldNotBeVerifiedWithoutARevocationListUnlessWaived) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  std::string snp = allowed_;
  snp.erase(snp.find("allow_missing_crl: true"), sizeof("allow_missing_crl: true") - 1);
  const Appraisal appraisal = Appraise(snp);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone) << Failures(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_CRL");
}

TEST_P(RealReport, CouldNotBeVerifiedWithoutItsCertificate) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  endorsements_.certificates.erase(endorsements_.certificates.begin());
  const Appraisal appraisal = Appraise(allowed_);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone) << Failures(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_CERTIFICATE");
  EXPECT_NE(appraisal.Decisive()->hint.find("https://kdsintf.amd.com/vcek/v1/"), std::string::npos);
}

TEST_P(RealReport, IsRefusedAfterItsCertificateHasExpired) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  const Appraisal appraisal =
      Verify(evidence_, endorsements_, MakePolicy(allowed_), expected_, At("2040-01-01T00:00:00Z"));
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  ASSERT_NE(appraisal.Decisive(), nullptr);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_CHAIN_VALIDITY");
}

// One flipped bit in any byte, signed or not, is refused: the signature covers the first 0x2A0
// bytes, is itself the next, and the trailer has to be zero. The policy checks nothing that could
// refuse for another reason first.
TEST_P(RealReport, IsRefusedWithAnyByteFlipped) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  const std::string genuine = evidence_.items[0].report;
  for (size_t at = 0; at < genuine.size(); at += 7) {
    evidence_.items[0].report = genuine;
    evidence_.items[0].report[at] ^= static_cast<char>(1 << (at % 8));
    const Appraisal appraisal = Appraise(allowed_);
    EXPECT_FALSE(appraisal.accepted()) << "byte " << at << Failures(appraisal);
    const bool proven =
        std::any_of(appraisal.checks.begin(), appraisal.checks.end(), [at](const Check& check) {
          const bool by_form = check.id == "SNP_REPORT_FORM" || check.id == "SNP_TRAILER";
          return check.outcome == Outcome::kFailed && (check.id == "SNP_SIGNATURE" || by_form);
        });
    EXPECT_TRUE(proven) << "byte " << at << Failures(appraisal);
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, RealReport, testing::ValuesIn(Vectors()),
                         [](const auto& info) { return info.param.name; });

struct Mixed {
  const char* name;
  const char* report;
  std::vector<const char*> certificates;
  const char* check;
  Outcome outcome;
};

class WrongCertificate : public testing::TestWithParam<Mixed> {};

TEST_P(WrongCertificate, IsNeverAccepted) {
  CARAVAN_REQUIRE_VECTORS();
  const auto bytes = ReadVectorForTest(GetParam().report);
  ASSERT_TRUE(bytes.has_value());
  auto evidence = DetectEvidence(*bytes);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  Endorsements endorsements;
  for (const char* path : GetParam().certificates) {
    const auto certificate = ReadVectorForTest(path);
    ASSERT_TRUE(certificate.has_value()) << path;
    ASSERT_TRUE(ParseEndorsements(*certificate, &endorsements).ok());
  }
  const Policy policy =
      MakePolicy(absl::StrCat(kBase,
                              "allow_incomplete_alias_check: true allow_provisional_firmware: true "
                              "allow_vlek: true max_vmpl: 1"));
  const Appraisal appraisal =
      VerifyStored(*evidence, endorsements, policy, ReportDataExpectation::NotChecked(),
                   At("2025-06-01T00:00:00Z"));
  EXPECT_FALSE(appraisal.accepted());
  const bool named =
      std::any_of(appraisal.checks.begin(), appraisal.checks.end(), [](const Check& check) {
        return check.id == GetParam().check && check.outcome == GetParam().outcome;
      });
  EXPECT_TRUE(named) << Failures(appraisal);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, WrongCertificate,
    testing::Values(Mixed{"InvalidLegacyVcek",
                          "snp/trustee/test-report.bin",
                          {"snp/trustee/test-vcek-invalid-legacy.der",
                           "snp/roots/milan_ask_ark_asvk.pem"},
                          "SNP_SIGNATURE",
                          Outcome::kFailed},
                    Mixed{"AnotherMachinesVcek",
                          "snp/trustee/test-report.bin",
                          {"snp/virtee-sev/vcek_milan.der", "snp/roots/milan_ask_ark_asvk.pem"},
                          "SNP_CHIP_ID",
                          Outcome::kFailed},
                    Mixed{"VlekForAVcekReport",
                          "snp/trustee/test-report.bin",
                          {"snp/trustee/test-vlek.der", "snp/roots/milan_ask_ark_asvk.pem"},
                          "SNP_SIGNING_KEY",
                          Outcome::kFailed},
                    Mixed{"VcekForAVlekReport",
                          "snp/trustee/test-vlek-report.bin",
                          {"snp/trustee/test-vcek.der", "snp/roots/milan_ask_ark_asvk.pem"},
                          "SNP_SIGNING_KEY",
                          Outcome::kFailed},
                    Mixed{"TurinVcekForAMilanReport",
                          "snp/trustee/test-vlek-report.bin",
                          {"snp/virtee-sev/vcek_turin.der", "snp/roots/turin_ask_ark_asvk.pem"},
                          "SNP_PRODUCT",
                          Outcome::kFailed},
                    Mixed{"VlekWithoutAsvk",
                          "snp/trustee/test-vlek-report.bin",
                          {"snp/trustee/test-vlek.der", "snp/roots/ask_ark_milan.pem"},
                          "SNP_CHAIN",
                          Outcome::kMissing},
                    Mixed{"GenoaChainForAMilanVcek",
                          "snp/trustee/test-report.bin",
                          {"snp/trustee/test-vcek.der", "snp/roots/ask_ark_genoa.pem"},
                          "SNP_CHAIN",
                          Outcome::kMissing}),
    [](const auto& info) { return info.param.name; });

TEST(RealVlek, IsRefusedAfterItsYear) {
  CARAVAN_REQUIRE_VECTORS();
  const auto report = ReadVectorForTest("snp/trustee/test-vlek-report.bin");
  Endorsements endorsements;
  for (const char* path : {"snp/trustee/test-vlek.der", "snp/roots/milan_ask_ark_asvk.pem"}) {
    ASSERT_TRUE(ParseEndorsements(*ReadVectorForTest(path), &endorsements).ok());
  }
  const Policy policy = MakePolicy(
      absl::StrCat(kBase, "allow_provisional_firmware: true allow_vlek: true max_vmpl: 1"));
  const Appraisal appraisal =
      VerifyStored(*DetectEvidence(*report), endorsements, policy,
                   ReportDataExpectation::NotChecked(), At("2025-12-11T00:00:00Z"));
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_CHAIN_VALIDITY");
}

TEST(RealVlek, NamesItsProviderAndNoMachine) {
  CARAVAN_REQUIRE_VECTORS();
  const auto report = ReadVectorForTest("snp/trustee/test-vlek-report.bin");
  Endorsements endorsements;
  for (const char* path : {"snp/trustee/test-vlek.der", "snp/roots/milan_ask_ark_asvk.pem"}) {
    ASSERT_TRUE(ParseEndorsements(*ReadVectorForTest(path), &endorsements).ok());
  }
  const Policy policy = MakePolicy(
      absl::StrCat("any_measurement: true any_tcb: true allow_missing_crl: true allow_smt: true "
                   "allow_provisional_firmware: true allow_vlek: true max_vmpl: 1 "
                   "vlek_csp_ids: \"CN=cc-us-east-2.amazonaws.com\" chip_ids: \"",
                   std::string(128, 'a'), "\""));
  const Appraisal appraisal =
      VerifyStored(*DetectEvidence(*report), endorsements, policy,
                   ReportDataExpectation::NotChecked(), At("2025-06-01T00:00:00Z"));
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_PLATFORM") << Failures(appraisal);
  EXPECT_EQ(appraisal.claims.at("csp_id"), "CN=cc-us-east-2.amazonaws.com");
}

}  // namespace
}  // namespace caravan::attestation
