// SPDX-License-Identifier: Apache-2.0
//
// Real reports of Hopper, Blackwell and LS10 with NVIDIA's chains, at a fixed time. OCSP answers
// are not among the vectors, so every policy here waives them in so many words.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

constexpr char kSdk[] = "nvidia/attestation-sdk/";
constexpr char kSamples[] = "nvidia/attestation-sdk/sample_attestation_data/";
constexpr char kLists[] = "nvidia/attestation-sdk/common-test-data/serialized_test_evidence/";
constexpr char kDay[] = "2026-06-01T00:00:00Z";

// Everything that differs between the vectors is left strict.
constexpr char kBase[] =
    "any_device: true any_firmware: true any_measurement: true allow_missing_ocsp: true ";

struct Vector {
  const char* name;
  std::vector<std::string> evidence;  // files; several make one set
  std::string chain;                  // file, "" when the evidence holds it
  // What a policy has to allow beyond kBase for the evidence to pass.
  std::vector<std::string> allowances;
  const char* platform;
  const char* failed = "";  // the check that fails whatever the policy allows
};

const char kUnstated[] = "modes: NVIDIA_UNSTATED";
const char kSpt[] = "modes: NVIDIA_SPT";
const char kPpcie[] = "modes: NVIDIA_PPCIE";
const char kNoFwid[] = "allow_missing_fwid: true";
const char kPart[] = "allow_incomplete_set: true";

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

absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

Policy MakePolicy(const std::string& nvidia) {
  absl::StatusOr<Policy> policy =
      ParsePolicy(absl::StrCat("name: \"vectors\" nvidia { ", nvidia, " }"), "vectors.textproto");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *policy : Policy();
}

std::string Failures(const Appraisal& appraisal) {
  std::string text(Name(appraisal.verdict));
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed || check.outcome == Outcome::kSkipped) continue;
    absl::StrAppend(&text, "\n  ", check.id, " (", check.what, "): ", check.detail);
  }
  return text;
}

bool Failed(const Appraisal& appraisal, std::string_view id) {
  return std::any_of(appraisal.checks.begin(), appraisal.checks.end(), [id](const Check& check) {
    return check.id == id && check.outcome == Outcome::kFailed;
  });
}

bool Read(const std::string& path, EvidenceSet* evidence) {
  const auto bytes = ReadVectorForTest(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  if (!bytes.has_value()) return false;
  auto set = DetectEvidence(*bytes);
  EXPECT_TRUE(set.ok()) << path << set.status();
  if (!set.ok()) return false;
  for (Evidence& item : set->items) evidence->items.push_back(std::move(item));
  return true;
}

bool ReadEndorsement(const std::string& path, Endorsements* endorsements) {
  const auto bytes = ReadVectorForTest(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  if (!bytes.has_value()) return false;
  const absl::Status added = ParseEndorsements(*bytes, endorsements);
  EXPECT_TRUE(added.ok()) << path << added;
  return added.ok();
}

// The nonce of the first report.
DeviceNonce NonceOf(const EvidenceSet& set) {
  DeviceNonce nonce;
  std::copy_n(set.items[0].report.begin() + 4, nonce.bytes.size(), nonce.bytes.begin());
  return nonce;
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

// Devices of the whole machine: the set is refused without any of them, and with one twice.
TEST(RealHgx, IsRefusedWithoutAnyOfItsDevices) {
  CARAVAN_REQUIRE_VECTORS();
  EvidenceSet whole;
  ASSERT_TRUE(Read("nvidia/nvtrust-ppcie/gpu_evidence.json", &whole));
  ASSERT_TRUE(Read("nvidia/nvtrust-ppcie/switch_evidence.json", &whole));
  ASSERT_EQ(whole.items.size(), 12u);
  const Policy policy = MakePolicy(absl::StrCat(kBase, kPpcie, " ", kNoFwid));
  const auto appraise = [&](const EvidenceSet& set) {
    return VerifyStored(set, {}, policy, ReportDataExpectation::DevicesExactly(NonceOf(whole)),
                        At(kDay));
  };
  for (size_t missing : {0, 5, 8, 11}) {
    EvidenceSet part = whole;
    part.items.erase(part.items.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_TRUE(Failed(appraise(part), "NVIDIA_SET_COMPLETE")) << missing;
    part.items.push_back(part.items[3]);
    EXPECT_TRUE(Failed(appraise(part), "NVIDIA_SET_DUPLICATE")) << missing;
  }
  // A switch of another machine, under another nonce.
  EvidenceSet mixed = whole;
  ASSERT_TRUE(Read(absl::StrCat(kLists, "switch_evidence_ls10.json"), &mixed));
  mixed.items.erase(mixed.items.begin() + 8);
  const Appraisal appraisal = appraise(mixed);
  EXPECT_TRUE(Failed(appraisal, "NVIDIA_NONCE"));
  EXPECT_TRUE(Failed(appraisal, "NVIDIA_SET_TOPOLOGY") || Failed(appraisal, "NVIDIA_SET_COMPLETE"));
}

// A GPU's chain for a switch's report, and another device's.
TEST(RealChains, AreForOneDevice) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string samples = kSamples;
  const std::pair<std::string, std::string> pairs[] = {
      {samples + "switch/switchAttestationReport.txt", samples + "gpu/hopperCertChain.txt"},
      {samples + "gpu/hopperAttestationReport.txt", samples + "switch/switchCertChain.txt"},
      {samples + "gpu/hopperAttestationReport.txt", "nvidia/nvtrust/hopperCertChain.txt"},
      {samples + "gpu/blackwellAttestationReport.txt", samples + "gpu/hopperCertChain.txt"},
  };
  for (const auto& [report, chain] : pairs) {
    EvidenceSet set;
    Endorsements endorsements;
    ASSERT_TRUE(Read(report, &set));
    ASSERT_TRUE(ReadEndorsement(chain, &endorsements));
    const Appraisal appraisal =
        VerifyStored(set, endorsements, MakePolicy(absl::StrCat(kBase, kUnstated, " ", kNoFwid)),
                     ReportDataExpectation::NotChecked(), At(kDay));
    EXPECT_TRUE(Failed(appraisal, "NVIDIA_SIGNATURE")) << report << Failures(appraisal);
  }
}

TEST(RealChains, CannotBeVerifiedFromALeafAlone) {
  CARAVAN_REQUIRE_VECTORS();
  EvidenceSet set;
  Endorsements endorsements;
  ASSERT_TRUE(Read("nvidia/trustee/hopperAttestationReport.txt", &set));
  ASSERT_TRUE(ReadEndorsement("nvidia/trustee/hopper_signing_cert.pem", &endorsements));
  const Policy policy = MakePolicy(absl::StrCat(kBase, kUnstated));
  const auto appraise = [&] {
    return VerifyStored(set, endorsements, policy, ReportDataExpectation::NotChecked(), At(kDay));
  };
  EXPECT_EQ(appraise().verdict, Verdict::kNone);
  EXPECT_EQ(appraise().Decisive()->id, "NVIDIA_CHAIN");
  ASSERT_TRUE(ReadEndorsement("nvidia/nvtrust/hopperCertChain.txt", &endorsements));
  EXPECT_EQ(appraise().verdict, Verdict::kWarning) << Failures(appraise());
}

// Measurements against the manifests of the firmware, at a time at which these hold.
struct Manifests {
  const char* name;
  std::string evidence, chain;
  std::vector<std::string> manifests;
  const char* time;
  std::string rules;
  const char* failed;  // "" when all measurements match
};

class RealMeasurements : public testing::TestWithParam<Manifests> {};

TEST_P(RealMeasurements, AreHeldAgainstManifests) {
  CARAVAN_REQUIRE_VECTORS();
  EvidenceSet set;
  Endorsements endorsements;
  ASSERT_TRUE(Read(GetParam().evidence, &set));
  ASSERT_TRUE(ReadEndorsement(GetParam().chain, &endorsements));
  for (const std::string& manifest : GetParam().manifests) {
    ASSERT_TRUE(ReadEndorsement(manifest, &endorsements));
  }
  const Policy policy =
      MakePolicy(absl::StrCat("any_device: true any_firmware: true allow_missing_ocsp: true ",
                              "allow_missing_fwid: true ", GetParam().rules));
  const Appraisal appraisal =
      VerifyStored(set, endorsements, policy, ReportDataExpectation::DevicesExactly(NonceOf(set)),
                   At(GetParam().time));
  if (*GetParam().failed == '\0') {
    EXPECT_EQ(appraisal.verdict, Verdict::kAffirming) << Failures(appraisal);
  } else {
    EXPECT_FALSE(appraisal.accepted());
    EXPECT_TRUE(Failed(appraisal, GetParam().failed)) << Failures(appraisal);
  }
}

const std::string kGo = "nvidia/go-nvtrust/";
const std::string kHopperSample = std::string(kSamples) + "gpu/";
const std::string kSwitchSample = std::string(kSamples) + "switch/";
const std::string kSdkRims = std::string(kSdk) + "sample_rims/";

INSTANTIATE_TEST_SUITE_P(
    Vectors, RealMeasurements,
    testing::Values(Manifests{"Hopper545",
                              kGo + "attestationReport.txt",
                              kGo + "gpuAkCertChain.txt",
                              {"nvidia/nvtrust/Driver_RIM_test_no_gpu.swidtag",
                               "nvidia/nvtrust/1010_0200_882_96005E0001_test_no_gpu.swidtag"},
                              "2024-06-01T00:00:00Z",
                              kUnstated,
                              ""},
                    Manifests{"Hopper545AfterTheManifestsExpired",
                              kGo + "attestationReport.txt",
                              kGo + "gpuAkCertChain.txt",
                              {"nvidia/nvtrust/Driver_RIM_test_no_gpu.swidtag",
                               "nvidia/nvtrust/1010_0200_882_96005E0001_test_no_gpu.swidtag"},
                              kDay,
                              kUnstated,
                              "NVIDIA_DRIVER_RIM_VALIDITY"},
                    Manifests{"Ls10",
                              kSwitchSample + "switchAttestationReport.txt",
                              kSwitchSample + "switchCertChain.txt",
                              {std::string(kSdk) +
                               "switchVBIOSRim_NV_SWITCH_BIOS_5612_0002_890_9610550001.xml"},
                              kDay,
                              std::string(kSpt) + " " + kPart,
                              ""},
                    Manifests{"Ls10InvalidManifest",
                              kSwitchSample + "switchAttestationReport.txt",
                              kSwitchSample + "switchCertChain.txt",
                              {kSdkRims +
                               "NV_SWITCH_BIOS_5612_0002_890_9610550001_invalid_signature.xml"},
                              "2025-06-01T00:00:00Z",
                              std::string(kSpt) + " " + kPart,
                              "NVIDIA_SWITCH_RIM_SIGNATURE"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::attestation
