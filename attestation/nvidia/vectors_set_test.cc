// SPDX-License-Identifier: Apache-2.0
//
// A whole machine, chains of other devices, and real measurements against real manifests.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/nvidia/test_devices.h"
#include "attestation/verifier.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

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
