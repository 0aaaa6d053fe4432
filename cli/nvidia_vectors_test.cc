// SPDX-License-Identifier: Apache-2.0
//
// Real reports of GPUs and switches, through caravanctl verify, each with a time.

#include <cstdlib>
#include <string>
#include <vector>

#include "attestation/sev_snp/test_vectors.h"
#include "cli/verify_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using attestation::VectorPathForTest;

constexpr char kDay[] = "2026-06-01T00:00:00Z";
constexpr char kTestNonce[] = "931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb";

// Without OCSP answers, which are not among the vectors, and without measurements unless given.
std::string Policy(const std::string& rules, bool any_measurement = true) {
  return std::string("name: \"rows\" nvidia { any_device: true any_firmware: true ") +
         "allow_missing_ocsp: true " + (any_measurement ? "any_measurement: true " : "") + rules +
         " }";
}

struct Row {
  const char* name;
  std::vector<std::string> evidence;  // files of one set
  std::vector<std::string> collateral;
  std::string policy;
  std::string nonce;
  int exit;
  const char* platform;
  const char* failed;  // has to be among the failed checks; "" for none
  const char* time = kDay;
};

const char kUnstated[] = "modes: NVIDIA_UNSTATED ";
const char kSpt[] = "modes: NVIDIA_SPT ";
const char kPpcie[] = "modes: NVIDIA_PPCIE ";
const char kNoFwid[] = "allow_missing_fwid: true ";
const char kPart[] = "allow_incomplete_set: true ";

const std::vector<Row>& Rows() {
  const std::string sdk = "nvidia/attestation-sdk/", nvtrust = "nvidia/nvtrust/";
  const std::string gpu = sdk + "sample_attestation_data/gpu/";
  const std::string nvswitch = sdk + "sample_attestation_data/switch/";
  const std::string lists = sdk + "common-test-data/serialized_test_evidence/";
  const std::string go = "nvidia/go-nvtrust/", ppcie = "nvidia/nvtrust-ppcie/";
  static const auto& rows = *new std::vector<Row>{
      {"Hopper550",
       {nvtrust + "hopperAttestationReport.txt"},
       {nvtrust + "hopperCertChain.txt"},
       Policy(kUnstated),
       kTestNonce,
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"Hopper550FromALeafAlone",
       {"nvidia/trustee/hopperAttestationReport.txt"},
       {"nvidia/trustee/hopper_signing_cert.pem"},
       Policy(kUnstated),
       kTestNonce,
       kNotVerifiable,
       "nvidia 1 x GH100",
       ""},
      {"Hopper545WithManifests",
       {go + "attestationReport.txt"},
       {go + "gpuAkCertChain.txt", nvtrust + "Driver_RIM_test_no_gpu.swidtag",
        nvtrust + "1010_0200_882_96005E0001_test_no_gpu.swidtag"},
       Policy(std::string(kUnstated) + kNoFwid, false),
       "",
       kOk,
       "nvidia 1 x GH100",
       "",
       "2024-06-01T00:00:00Z"},
      {"Hopper545WithExpiredManifests",
       {go + "attestationReport.txt"},
       {go + "gpuAkCertChain.txt", nvtrust + "Driver_RIM_test_no_gpu.swidtag",
        nvtrust + "1010_0200_882_96005E0001_test_no_gpu.swidtag"},
       Policy(std::string(kUnstated) + kNoFwid, false),
       "",
       kRefused,
       "nvidia 1 x GH100",
       "NVIDIA_DRIVER_RIM_VALIDITY"},
      {"Hopper545WithAManifestOfOtherValues",
       {go + "attestationReport.txt"},
       {go + "gpuAkCertChain.txt", nvtrust + "Driver_RIM_test_no_gpu.swidtag",
        sdk + "sample_rims/NV_GPU_VBIOS_1010_0200_882_96005E0001_measurement_mismatch.xml"},
       Policy(std::string(kUnstated) + kNoFwid, false),
       "",
       kRefused,
       "nvidia 1 x GH100",
       "NVIDIA_GOLDEN",
       "2024-06-01T00:00:00Z"},
      {"Hopper545WithoutManifests",
       {go + "attestationReport.txt"},
       {go + "gpuAkCertChain.txt"},
       Policy(std::string(kUnstated) + kNoFwid, false),
       "",
       kNotVerifiable,
       "nvidia 1 x GH100",
       ""},
      {"Hopper580",
       {sdk + "hopperAttestationReport.txt"},
       {sdk + "hopperCertChain.txt"},
       Policy(kSpt),
       "5bb22e377702d4e1e8215a903ba094826b9ac7f731dee1fe8102958bf2840aca",
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"Hopper535",
       {gpu + "hopperAttestationReport.txt"},
       {gpu + "hopperCertChain.txt"},
       Policy(std::string(kUnstated) + kNoFwid),
       "27a328247bf7935c993341cf587be6f05986ccce4fe7ba2c54100bd616a58f66",
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"Hopper570",
       {gpu + "hopperAttestationReportExpired.txt"},
       {gpu + "hopperCertChainExpired.txt"},
       Policy(kUnstated),
       kTestNonce,
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"HopperInvalidSignature",
       {gpu + "hopperAttestationReportInvalidSignature.txt"},
       {gpu + "hopperCertChain.txt"},
       Policy(std::string(kPpcie) + kPart),
       kTestNonce,
       kRefused,
       "nvidia 1 x GH100",
       "NVIDIA_SIGNATURE"},
      {"HopperOneZeroBehind",
       {"nvidia/trustee/hopper_coco_report1.txt"},
       {"nvidia/trustee/hopper_coco_certs1.txt"},
       Policy(kSpt),
       "",
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"HopperOtherNonce",
       {nvtrust + "hopperAttestationReport.txt"},
       {nvtrust + "hopperCertChain.txt"},
       Policy(kUnstated),
       std::string(64, '0'),
       kRefused,
       "nvidia 1 x GH100",
       "NVIDIA_NONCE"},
      {"Blackwell",
       {gpu + "blackwellAttestationReport.txt"},
       {gpu + "blackwellCertChain.txt"},
       Policy(kUnstated),
       kTestNonce,
       kOk,
       "nvidia 1 x GB100",
       ""},
      {"Ls10WithManifest",
       {sdk + "switchAttestationReport.txt"},
       {sdk + "switchCertChain.txt",
        sdk + "switchVBIOSRim_NV_SWITCH_BIOS_5612_0002_890_9610550001.xml"},
       Policy(std::string(kSpt) + kNoFwid + kPart, false),
       kTestNonce,
       kOk,
       "nvidia 1 x LS_10",
       ""},
      {"Ls10InvalidManifest",
       {sdk + "switchAttestationReport.txt"},
       {sdk + "switchCertChain.txt",
        sdk + "sample_rims/NV_SWITCH_BIOS_5612_0002_890_9610550001_invalid_signature.xml"},
       Policy(std::string(kSpt) + kNoFwid + kPart, false),
       kTestNonce,
       kRefused,
       "nvidia 1 x LS_10",
       "NVIDIA_SWITCH_RIM_SIGNATURE"},
      {"Ls10InvalidSignature",
       {nvswitch + "switchAttestationReportInvalidSignature.txt"},
       {nvswitch + "switchCertChain.txt"},
       Policy(std::string(kSpt) + kNoFwid + kPart),
       "",
       kRefused,
       "nvidia 1 x LS_10",
       "NVIDIA_SIGNATURE"},
      {"ListOfOneHopper",
       {lists + "hopper_evidence.json"},
       {},
       Policy(std::string(kPpcie) + kPart),
       "e97b23a1718095a0e9e35edca810768c70a6a5a389b705e753b197912bc11576",
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"ListOfHopperOnHold",
       {lists + "hopper_evidence_cert_hold.json"},
       {},
       Policy(kUnstated),
       kTestNonce,
       kOk,
       "nvidia 1 x GH100",
       ""},
      {"ListOfFourHoppers",
       {lists + "multi_gpu_hopper.json"},
       {},
       Policy(std::string(kPpcie) + kPart + "gpus: 4"),
       "e97b23a1718095a0e9e35edca810768c70a6a5a389b705e753b197912bc11576",
       kOk,
       "nvidia 4 x GH100",
       ""},
      {"ListOfFourHoppersIsNoSet",
       {lists + "multi_gpu_hopper.json"},
       {},
       Policy(kPpcie),
       "",
       kRefused,
       "nvidia 4 x GH100",
       "NVIDIA_SET_COMPLETE"},
      {"ListOfOneSwitch",
       {lists + "switch_evidence_ls10.json"},
       {},
       Policy(std::string(kSpt) + kNoFwid + kPart),
       "",
       kOk,
       "nvidia 1 x LS_10",
       ""},
      {"WholeHgx",
       {ppcie + "gpu_evidence.json", ppcie + "switch_evidence.json"},
       {},
       Policy(std::string(kPpcie) + kNoFwid + "gpus: 8 switches: 4"),
       "4760e30534a0621357d458b1a7936551b5dc4cd1e69718adf7ed9fb0252a537e",
       kOk,
       "nvidia 8 x GH100, 4 x LS_10",
       ""},
      {"HgxWithASwitchOfAnother",
       {ppcie + "gpu_evidence.json", ppcie + "switch_evidence.json",
        lists + "switch_evidence_ls10.json"},
       {},
       Policy(std::string(kPpcie) + kNoFwid),
       "4760e30534a0621357d458b1a7936551b5dc4cd1e69718adf7ed9fb0252a537e",
       kRefused,
       "nvidia 8 x GH100, 5 x LS_10",
       "NVIDIA_NONCE"},
      {"HgxGpusTwice",
       {ppcie + "gpu_evidence.json", ppcie + "gpu_evidence.json"},
       {},
       Policy(std::string(kPpcie) + kPart),
       "",
       kRefused,
       "nvidia 16 x GH100",
       "NVIDIA_SET_DUPLICATE"},
  };
  return rows;
}

VerifyRun Verify(const Row& row) {
  VerifyOptions options;
  options.evidence = VectorPathForTest(row.evidence[0]);
  for (size_t i = 1; i < row.evidence.size(); ++i) {
    options.also.push_back(VectorPathForTest(row.evidence[i]));
  }
  for (const std::string& path : row.collateral) {
    options.collateral.push_back(VectorPathForTest(path));
  }
  options.report_data = row.nonce;
  options.verification_time = row.time;
  return RunVerifyForTest(std::move(options), row.policy);
}

class NvidiaVector : public testing::TestWithParam<Row> {};

TEST_P(NvidiaVector, HasItsResultAtItsTime) {
  CARAVAN_REQUIRE_VECTORS();
  const VerifyRun run = Verify(GetParam());
  EXPECT_EQ(run.exit, GetParam().exit) << run.text;
  EXPECT_EQ(run.platform, GetParam().platform);
  if (*GetParam().failed == '\0') {
    EXPECT_TRUE(run.failed.empty()) << run.text;
  } else {
    EXPECT_THAT(run.failed, testing::Contains(std::string(GetParam().failed))) << run.text;
  }
}

TEST_P(NvidiaVector, IsNotAcceptedBeforeItsTime) {
  CARAVAN_REQUIRE_VECTORS();
  Row row = GetParam();
  row.time = "2019-01-01T00:00:00Z";
  EXPECT_NE(Verify(row).exit, kOk);
}

// Without a policy that says so, nothing passes.
TEST_P(NvidiaVector, IsNotAcceptedByAStrictPolicy) {
  CARAVAN_REQUIRE_VECTORS();
  Row row = GetParam();
  row.policy =
      "name: \"strict\" nvidia { pdis: \"ffffffffffffffff\" modes: NVIDIA_SPT "
      "floors { chip: \"GH100\" vbios: \"FF\" driver: \"999999\" } }";
  const VerifyRun run = Verify(row);
  EXPECT_EQ(run.exit, kRefused) << run.text;
}

INSTANTIATE_TEST_SUITE_P(Rows, NvidiaVector, testing::ValuesIn(Rows()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace caravan::cli
