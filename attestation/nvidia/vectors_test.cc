// SPDX-License-Identifier: Apache-2.0
//
// Real reports of Hopper, Blackwell and LS10 with NVIDIA's chains, at a fixed time. OCSP answers
// are not among the vectors, so every policy here waives them in so many words.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/nvidia/test_devices.h"
#include "attestation/verifier.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

struct Vector {
  const char* name;
  std::vector<std::string> evidence;  // files; several make one set
  std::string chain;                  // file, "" when the evidence holds it
  // What a policy has to allow beyond kBase for the evidence to pass.
  std::vector<std::string> allowances;
  const char* platform;
  const char* failed = "";  // the check that fails whatever the policy allows
};

const std::vector<Vector>& Vectors() {
  const std::string sdk = kSdk, samples = kSamples, lists = kLists;
  static const auto& vectors = *new std::vector<Vector>{
      {"HopperDriver550",
       {"nvidia/nvtrust/hopperAttestationReport.txt"},
       "nvidia/nvtrust/hopperCertChain.txt",
       {kUnstated},
       "nvidia 1 x GH100"},
      {"HopperDriver545",
       {"nvidia/go-nvtrust/attestationReport.txt"},
       "nvidia/go-nvtrust/gpuAkCertChain.txt",
       {kUnstated, kNoFwid},
       "nvidia 1 x GH100"},
      {"HopperDriver580",
       {sdk + "hopperAttestationReport.txt"},
       sdk + "hopperCertChain.txt",
       {kSpt},
       "nvidia 1 x GH100"},
      {"HopperDriver535",
       {samples + "gpu/hopperAttestationReport.txt"},
       samples + "gpu/hopperCertChain.txt",
       {kUnstated, kNoFwid},
       "nvidia 1 x GH100"},
      // What has expired is its driver's manifest: the chain's dates run to the year 9999.
      {"HopperDriver570",
       {samples + "gpu/hopperAttestationReportExpired.txt"},
       samples + "gpu/hopperCertChainExpired.txt",
       {kUnstated},
       "nvidia 1 x GH100"},
      {"HopperOneZeroBehind",
       {"nvidia/trustee/hopper_coco_report1.txt"},
       "nvidia/trustee/hopper_coco_certs1.txt",
       {kSpt},
       "nvidia 1 x GH100"},
      {"HopperInvalidSignature",
       {samples + "gpu/hopperAttestationReportInvalidSignature.txt"},
       samples + "gpu/hopperCertChain.txt",
       {kPpcie, kPart},
       "nvidia 1 x GH100",
       "NVIDIA_SIGNATURE"},
      {"Blackwell",
       {samples + "gpu/blackwellAttestationReport.txt"},
       samples + "gpu/blackwellCertChain.txt",
       {kUnstated},
       "nvidia 1 x GB100"},
      {"Ls10",
       {sdk + "switchAttestationReport.txt"},
       sdk + "switchCertChain.txt",
       {kNoFwid, kPart},
       "nvidia 1 x LS_10"},
      {"Ls10Sample",
       {samples + "switch/switchAttestationReport.txt"},
       samples + "switch/switchCertChain.txt",
       {kNoFwid, kPart},
       "nvidia 1 x LS_10"},
      {"Ls10InvalidSignature",
       {samples + "switch/switchAttestationReportInvalidSignature.txt"},
       samples + "switch/switchCertChain.txt",
       {kNoFwid, kPart},
       "nvidia 1 x LS_10",
       "NVIDIA_SIGNATURE"},
      {"ListOfOneHopper",
       {lists + "hopper_evidence.json"},
       "",
       {kPpcie, kPart},
       "nvidia 1 x GH100"},
      {"ListOfHopperOnHold",
       {lists + "hopper_evidence_cert_hold.json"},
       "",
       {kUnstated},
       "nvidia 1 x GH100"},
      {"ListOfFourHoppers",
       {lists + "multi_gpu_hopper.json"},
       "",
       {kPpcie, kPart},
       "nvidia 4 x GH100"},
      {"ListOfOneSwitch",
       {lists + "switch_evidence_ls10.json"},
       "",
       {kNoFwid, kPart},
       "nvidia 1 x LS_10"},
      {"WholeHgx",
       {"nvidia/nvtrust-ppcie/gpu_evidence.json", "nvidia/nvtrust-ppcie/switch_evidence.json"},
       "",
       {kPpcie, kNoFwid},
       "nvidia 8 x GH100, 4 x LS_10"},
      {"HgxWithoutItsSwitches",
       {"nvidia/nvtrust-ppcie/gpu_evidence.json"},
       "",
       {kPpcie, kPart},
       "nvidia 8 x GH100"},
  };
  return vectors;
}

class RealDevice : public testing::TestWithParam<Vector> {
 protected:
  void Load() {
    for (const std::string& path : GetParam().evidence) ASSERT_TRUE(Read(path, &evidence_));
    if (!GetParam().chain.empty()) {
      ASSERT_TRUE(ReadEndorsement(GetParam().chain, &endorsements_));
    }
    nonce_ = NonceOf(evidence_);
    for (const std::string& allowance : GetParam().allowances) {
      absl::StrAppend(&allowed_, allowance, " ");
    }
    if (allowed_.find("modes") == std::string::npos) allowed_ += kSpt;
  }

  Appraisal Appraise(const std::string& rules, const char* time = kDay) const {
    return VerifyStored(evidence_, endorsements_, MakePolicy(rules),
                        ReportDataExpectation::DevicesExactly(nonce_), At(time));
  }

  bool fails() const { return *GetParam().failed != '\0'; }

  EvidenceSet evidence_;
  Endorsements endorsements_;
  DeviceNonce nonce_;
  std::string allowed_ = kBase;
};

TEST_P(RealDevice, HasItsResultUnderThePolicyThatAllowsWhatItIs) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  const Appraisal appraisal = Appraise(allowed_);
  EXPECT_EQ(appraisal.platform, GetParam().platform);
  EXPECT_FALSE(appraisal.insecure);
  if (fails()) {
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
    EXPECT_TRUE(Failed(appraisal, GetParam().failed)) << Failures(appraisal);
  } else {
    EXPECT_EQ(appraisal.verdict, Verdict::kAffirming) << Failures(appraisal);
  }
}

TEST_P(RealDevice, IsRefusedWithoutEachAllowance) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  for (const std::string& left_out : GetParam().allowances) {
    std::string rules = kBase;
    for (const std::string& allowance : GetParam().allowances) {
      if (allowance != left_out) absl::StrAppend(&rules, allowance, " ");
    }
    if (rules.find("modes") == std::string::npos) rules += "modes: NVIDIA_MPT";
    const Appraisal appraisal = Appraise(rules);
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated) << left_out << Failures(appraisal);
  }
}

TEST_P(RealDevice, CouldNotBeVerifiedWithoutOcspUnlessWaived) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  if (fails()) return;
  std::string rules = allowed_;
  rules.erase(rules.find("allow_missing_ocsp: true"), sizeof("allow_missing_ocsp: true") - 1);
  const Appraisal appraisal = Appraise(rules);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone) << Failures(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr);
  EXPECT_EQ(appraisal.Decisive()->id, "NVIDIA_OCSP");
}

TEST_P(RealDevice, CouldNotBeVerifiedWithoutItsChain) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  endorsements_ = {};
  for (Evidence& item : evidence_.items) item.certificates.clear();
  const Appraisal appraisal = Appraise(allowed_);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone) << Failures(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr);
  EXPECT_EQ(appraisal.Decisive()->id, "NVIDIA_CERTIFICATE");
}

TEST_P(RealDevice, CouldNotBeVerifiedWithoutManifestsUnlessWaived) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  if (fails()) return;
  std::string rules = allowed_;
  rules.erase(rules.find("any_measurement: true"), sizeof("any_measurement: true") - 1);
  EXPECT_EQ(Appraise(rules).verdict, Verdict::kNone);
}

TEST_P(RealDevice, IsRefusedBeforeItsCertificatesBegin) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  const Appraisal appraisal = Appraise(allowed_, "2019-01-01T00:00:00Z");
  EXPECT_TRUE(Failed(appraisal, "NVIDIA_CHAIN_VALIDITY")) << Failures(appraisal);
}

TEST_P(RealDevice, IsRefusedUnderAnotherNonce) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  for (size_t at : {0, 31}) {
    nonce_.bytes[at] ^= 1;
    EXPECT_TRUE(Failed(Appraise(allowed_), "NVIDIA_NONCE")) << at;
    nonce_.bytes[at] ^= 1;
  }
}

// A sampled sweep: one bit of every 131st byte. The policy checks nothing that could refuse for
// another reason first; a byte behind the signature has to be zero.
TEST_P(RealDevice, IsRefusedWithAnyByteFlipped) {
  CARAVAN_REQUIRE_VECTORS();
  ASSERT_NO_FATAL_FAILURE(Load());
  if (fails()) return;
  const EvidenceSet genuine = evidence_;
  const size_t last = genuine.items.size() - 1;
  for (size_t which : {size_t{0}, last}) {
    const size_t size = genuine.items[which].report.size();
    for (size_t at = 0; at<size; at += genuine.items.size()> 1 ? 769 : 131) {
      evidence_ = genuine;
      evidence_.items[which].report[at] ^= static_cast<char>(1 << (at % 8));
      const Appraisal appraisal = Appraise(allowed_);
      EXPECT_FALSE(appraisal.accepted()) << "byte " << at;
      const bool proven = Failed(appraisal, "NVIDIA_REPORT_FORM") ||
                          Failed(appraisal, "NVIDIA_SIGNATURE") ||
                          Failed(appraisal, "NVIDIA_TRAILER");
      // Without a key that signed the report, a chain among the endorsements names none.
      EXPECT_TRUE(proven) << "byte " << at << Failures(appraisal);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, RealDevice, testing::ValuesIn(Vectors()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::attestation
