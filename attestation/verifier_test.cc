// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifier.h"

#include <string>
#include <vector>

#include "attestation/insecure_software/insecure_attester.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);

class Verifier : public testing::Test {
 protected:
  Verifier() {
    policy_ = *ParsePolicy("name: \"trial\" allow_insecure: true insecure_root_spki_sha256: \"" +
                               base::ToHex(root_.SpkiSha256()) +
                               "\" snp { any_measurement: true any_platform: true any_tcb: true }",
                           "trial.textproto");
    data_.bytes.fill(7);
    InsecureAttesterOptions options;
    options.chip_id = DeriveInsecureChipId("node-0");
    evidence_ = *(*MakeInsecureAttester(root_, options, kNow))->Collect(data_);
  }

  const InsecureRoot root_ = *InsecureRoot::Create(kNow);
  Policy policy_;
  ReportData data_;
  EvidenceSet evidence_;
};

TEST_F(Verifier, WarnsAtBestWhereReportDataIsNotCheckedOnPurpose) {
  const Appraisal appraisal =
      VerifyStored(evidence_, {}, policy_, ReportDataExpectation::NotChecked(), kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning);
  bool skipped = false;
  for (const Check& check : appraisal.checks) {
    skipped |= check.id == "SNP_REPORT_DATA" && check.outcome == Outcome::kSkipped;
  }
  EXPECT_TRUE(skipped);
}

TEST_F(Verifier, TakesNoEmptySet) {
  const Appraisal appraisal = Verify({}, {}, policy_, data_, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone);
  EXPECT_EQ(appraisal.Decisive()->id, "EVIDENCE_EMPTY");
}

TEST_F(Verifier, CannotVerifyKindsWithoutAVerifier) {
  const std::pair<EvidenceKind, const char*> kinds[] = {
      {static_cast<EvidenceKind>(99), "EVIDENCE_UNSUPPORTED"},
  };
  for (const auto& [kind, id] : kinds) {
    // Beside evidence that passes, too: what cannot be verified is never left out of account.
    EvidenceSet set = evidence_;
    set.items.push_back({kind, "report", {}});
    const Appraisal appraisal = Verify(set, {}, policy_, data_, kNow);
    EXPECT_EQ(appraisal.verdict, Verdict::kNone) << id;
    EXPECT_EQ(appraisal.Decisive()->id, id);
  }
}

TEST_F(Verifier, RefusesKindsWithoutRulesInThePolicy) {
  for (const auto& [kind, id] :
       {std::pair(EvidenceKind::kTdx, "TDX_POLICY"), std::pair(EvidenceKind::kSgx, "SGX_POLICY"),
        std::pair(EvidenceKind::kVtpm, "VTPM_POLICY"),
        std::pair(EvidenceKind::kNvidia, "NVIDIA_POLICY")}) {
    EvidenceSet set = evidence_;
    set.items.push_back({kind, "report", {}});
    const Appraisal appraisal = Verify(set, {}, policy_, data_, kNow);
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated) << id;
    EXPECT_EQ(appraisal.Decisive()->id, id);
  }
}

// One CPU's evidence counted twice.
TEST_F(Verifier, RefusesTheSameCpuTwice) {
  EvidenceSet set = evidence_;
  set.items.push_back(set.items[0]);
  const Appraisal appraisal = Verify(set, {}, policy_, data_, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, "EVIDENCE_DUPLICATE");
}

TEST_F(Verifier, ComparesPoliciesMadeInCodeWhateverTheirCase) {
  for (char& c : *policy_.mutable_insecure_root_spki_sha256(0)) c = absl::ascii_toupper(c);
  EXPECT_TRUE(Verify(evidence_, {}, policy_, data_, kNow).accepted());
}

TEST_F(Verifier, IsAnAppraiserWithThePolicysDigest) {
  const auto appraiser = MakeAppraiser(policy_, {{}, {root_.CrlDer()}});
  ASSERT_TRUE(appraiser.ok());
  EXPECT_EQ((*appraiser)->PolicyName(), "trial");
  EXPECT_EQ((*appraiser)->PolicyDigest(), PolicyDigest(policy_));
  EXPECT_TRUE((*appraiser)->Appraise(evidence_, data_, kNow).accepted());
  data_.bytes[0] ^= 1;
  EXPECT_FALSE((*appraiser)->Appraise(evidence_, data_, kNow).accepted());
}

// An appraiser checks certificates' signatures once, and everything else each time.
TEST_F(Verifier, RefusesWhatDiffersFromWhatItAcceptedBefore) {
  const auto appraiser = MakeAppraiser(policy_, {{}, {root_.CrlDer()}});
  ASSERT_TRUE(appraiser.ok());
  ASSERT_TRUE((*appraiser)->Appraise(evidence_, data_, kNow).accepted());
  const auto refused_by = [&](const EvidenceSet& evidence, absl::Time now) {
    const Appraisal appraisal = (*appraiser)->Appraise(evidence, data_, now);
    return appraisal.accepted() ? "" : appraisal.Decisive()->id;
  };
  std::vector<std::string>& chain = evidence_.items[0].certificates;
  ASSERT_EQ(chain.size(), 3u);
  for (std::string& der : chain) {
    der.back() ^= 1;
    EXPECT_EQ(refused_by(evidence_, kNow), &der == &chain[2] ? "SNP_ROOT" : "SNP_CHAIN");
    der.back() ^= 1;
  }
  std::string& report = evidence_.items[0].report;
  report[0x2A0] ^= 1;
  EXPECT_EQ(refused_by(evidence_, kNow), "SNP_SIGNATURE");
  report[0x2A0] ^= 1;
  EXPECT_EQ(refused_by(evidence_, kNow + absl::Hours(24 * 365 * 100)), "SNP_CHAIN_VALIDITY");
  EXPECT_EQ(refused_by(evidence_, kNow), "");
}

TEST_F(Verifier, MakesNoAppraiserOfAnInvalidPolicy) {
  EXPECT_FALSE(MakeAppraiser(Policy(), {}).ok());
}

}  // namespace
}  // namespace caravan::attestation
