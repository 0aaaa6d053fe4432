// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's own manifests, right ones and wrong ones, and real reports against them.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/nvidia/golden.h"
#include "attestation/nvidia/rim_check.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr char kSwitchRim[] =
    "nvidia/attestation-sdk/switchVBIOSRim_NV_SWITCH_BIOS_5612_0002_890_9610550001.xml";
constexpr char kDriverRim[] = "nvidia/attestation-sdk/NV_GPU_DRIVER_GH100_550.144.03.xml";
constexpr char kSamples[] = "nvidia/attestation-sdk/sample_rims/";
constexpr char kDriverVersion[] = "550.144.03";
constexpr char kSwitchVersion[] = "96.10.55.00.01";

absl::Time Day(int year, int month) {
  return absl::FromCivil(absl::CivilDay(year, month, 1), absl::UTCTimeZone());
}

struct Result {
  std::optional<VerifiedRim> rim;
  Appraisal appraisal;
};

Result Find(const std::string& text, RimKind kind, const std::string& product,
            const std::string& version, absl::Time now) {
  Result result;
  CheckList checks(&result.appraisal);
  Endorsements endorsements;
  endorsements.rims.push_back(text);
  result.rim = FindRim({"RIM", kind, product, version, ""}, endorsements, Policy(), now, &checks);
  checks.Conclude();
  return result;
}

std::string Read(const std::string& path) { return ReadVectorForTest(path).value_or(""); }

void ExpectVerifies(const std::string& path, RimKind kind, const std::string& product,
                    const std::string& version, absl::Time now) {
  const Result result = Find(Read(path), kind, product, version, now);
  EXPECT_TRUE(result.rim.has_value()) << path << ": " << result.appraisal.ToStatus();
  EXPECT_EQ(result.appraisal.verdict, Verdict::kAffirming) << path;
}

void ExpectRefused(const std::string& path, RimKind kind, const std::string& product,
                   const std::string& version, absl::Time now, const std::string& check,
                   Verdict verdict = Verdict::kContraindicated) {
  const Result result = Find(Read(path), kind, product, version, now);
  EXPECT_FALSE(result.rim.has_value()) << path;
  EXPECT_EQ(result.appraisal.verdict, verdict) << path;
  ASSERT_NE(result.appraisal.Decisive(), nullptr) << path;
  EXPECT_EQ(result.appraisal.Decisive()->id, check) << result.appraisal.ToStatus();
}

// The blocks of an SPDM 1.1 MEASUREMENTS response behind its request.
std::vector<MeasuredBlock> ReadBlocks(const std::string& path) {
  std::vector<MeasuredBlock> blocks;
  const auto set = DetectEvidence(Read(path), EvidenceKind::kNvidia);
  EXPECT_TRUE(set.ok()) << set.status();
  if (!set.ok()) return blocks;
  const std::string& report = set->items[0].report;
  constexpr size_t kRequest = 37, kHeader = 8, kBlock = 4 + 3 + 48;
  for (size_t i = 0; i < static_cast<uint8_t>(report.at(kRequest + 4)); ++i) {
    const size_t at = kRequest + kHeader + i * kBlock;
    blocks.push_back({static_cast<uint8_t>(report.at(at)), report.substr(at + 7, 48)});
  }
  return blocks;
}

TEST(RimVectors, AllOfNvtrustsSamplesVerify) {
  CARAVAN_REQUIRE_VECTORS();
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(VectorPathForTest("nvidia/nvtrust"))) {
    if (entry.path().extension() != ".swidtag") continue;
    const std::string text = Read("nvidia/nvtrust/" + entry.path().filename().string());
    const auto document = SignedDocument::Parse(text);
    ASSERT_TRUE(document.ok()) << entry.path() << document.status();
    const auto rim = ParseRim(document->content());
    ASSERT_TRUE(rim.ok()) << entry.path() << rim.status();
    EXPECT_EQ(rim->golden.size(), 64u);
    const Result result = Find(text, rim->kind, "GH100", rim->version, Day(2024, 6));
    EXPECT_EQ(result.appraisal.verdict, Verdict::kAffirming)
        << entry.path() << result.appraisal.ToStatus();
    ++count;
  }
  EXPECT_GE(count, 25u);
}

TEST(RimVectors, SamplesOfTheSdkVerify) {
  CARAVAN_REQUIRE_VECTORS();
  ExpectVerifies(kDriverRim, RimKind::kDriver, "GH100", kDriverVersion, Day(2025, 6));
  ExpectVerifies(kSwitchRim, RimKind::kSwitch, "LS10", kSwitchVersion, Day(2026, 6));
}

TEST(RimVectors, ExpiredOnesAreRefused) {
  CARAVAN_REQUIRE_VECTORS();
  for (absl::Time when : {Day(2024, 12), Day(2027, 1)}) {
    ExpectRefused(kDriverRim, RimKind::kDriver, "GH100", kDriverVersion, when, "RIM_VALIDITY");
  }
}

TEST(RimVectors, InvalidSignaturesAreRefused) {
  CARAVAN_REQUIRE_VECTORS();
  ExpectRefused("nvidia/attestation-sdk/incorrect_signature_driver_rim.xml", RimKind::kDriver,
                "GH100", kDriverVersion, Day(2025, 6), "RIM_SIGNATURE");
  ExpectRefused(
      absl::StrCat(kSamples, "NV_SWITCH_BIOS_5612_0002_890_9610550001_invalid_signature.xml"),
      RimKind::kSwitch, "LS10", kSwitchVersion, Day(2025, 6), "RIM_SIGNATURE");
}

// A debug root and a signer of another product's; the CA between them is not even there.
TEST(RimVectors, AnIncompleteDebugChainIsRefused) {
  CARAVAN_REQUIRE_VECTORS();
  ExpectRefused("nvidia/attestation-sdk/incorrect_cert_chain_driver_rim.xml", RimKind::kVbios,
                "GB100", "97.00.83.00.09", Day(2025, 6), "RIM_CHAIN", Verdict::kNone);
}

// The switch's version in a manifest of a GH100.
TEST(RimVectors, AManifestOfAnotherProductIsNotTheDevices) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string path =
      absl::StrCat(kSamples, "NV_SWITCH_BIOS_5612_0002_890_9610550001_measurement_mismatch.xml");
  ExpectRefused(path, RimKind::kSwitch, "LS10", kSwitchVersion, Day(2024, 6), "RIM",
                Verdict::kNone);
  ExpectRefused(path, RimKind::kVbios, "LS10", kSwitchVersion, Day(2024, 6), "RIM", Verdict::kNone);
  // It is a GPU's, and was changed after it had been signed.
  ExpectRefused(path, RimKind::kVbios, "GH100", kSwitchVersion, Day(2024, 6), "RIM_SIGNATURE");
}

// Sampled over the whole file. What is not covered by the signature, a blank in a certificate's
// text, may change; what is read may not.
TEST(RimVectors, AFlippedBitIsRefusedOrChangesNothingThatIsRead) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string good = Read(kDriverRim);
  const std::string content = SignedDocument::Parse(good)->content();
  size_t refused = 0, flips = 0;
  for (size_t bit = 0; bit < 8 * good.size(); bit += 251) {
    std::string text = good;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    ++flips;
    const Result result = Find(text, RimKind::kDriver, "GH100", kDriverVersion, Day(2025, 6));
    if (!result.rim.has_value()) {
      ++refused;
      continue;
    }
    EXPECT_EQ(SignedDocument::Parse(text)->content(), content) << "bit " << bit;
  }
  EXPECT_GT(refused, flips * 9 / 10);
}

TEST(GoldenVectors, AHopperReportMatchesItsTwoManifests) {
  CARAVAN_REQUIRE_VECTORS();
  const Result driver = Find(Read("nvidia/nvtrust/Driver_RIM_test_no_gpu.swidtag"),
                             RimKind::kDriver, "GH100", "545.00", Day(2024, 6));
  const Result vbios = Find(Read("nvidia/nvtrust/1010_0200_882_96005E0001_test_no_gpu.swidtag"),
                            RimKind::kVbios, "GH100", "96.00.5e.00.01", Day(2024, 6));
  ASSERT_TRUE(driver.rim.has_value() && vbios.rim.has_value());
  const auto blocks = ReadBlocks("nvidia/go-nvtrust/attestationReport.txt");
  ASSERT_EQ(blocks.size(), 64u);
  const auto both = CompareGolden({&driver.rim->rim, &vbios.rim->rim}, blocks, false);
  EXPECT_EQ(both.compared, 33u);
  EXPECT_EQ(both.matched, 33u);
  EXPECT_TRUE(both.findings.empty());
  EXPECT_TRUE(both.Matches());
  // NVDEC0 is off in this report.
  EXPECT_EQ(CompareGolden({&driver.rim->rim, &vbios.rim->rim}, blocks, true).compared, 32u);
  // A manifest that is left out leaves its measurements uncovered.
  const auto one = CompareGolden({&driver.rim->rim}, blocks, false);
  // (four of its twelve are of unused, zero blocks).
  EXPECT_EQ(one.Count(GoldenFinding::Kind::kUncovered), 8u);
  const auto twice = CompareGolden({&driver.rim->rim, &driver.rim->rim}, blocks, false);
  EXPECT_EQ(twice.Count(GoldenFinding::Kind::kConflict), 21u);
}

TEST(GoldenVectors, ASwitchReportMatchesItsManifest) {
  CARAVAN_REQUIRE_VECTORS();
  const Result rim = Find(Read(kSwitchRim), RimKind::kSwitch, "LS10", kSwitchVersion, Day(2026, 6));
  ASSERT_TRUE(rim.rim.has_value());
  const auto comparison = CompareGolden(
      {&rim.rim->rim}, ReadBlocks("nvidia/attestation-sdk/switchAttestationReport.txt"), false);
  EXPECT_EQ(comparison.matched, 31u);
  EXPECT_TRUE(comparison.Matches());
  EXPECT_TRUE(comparison.findings.empty());
}

// Genuine signatures, other values.
TEST(GoldenVectors, ValuesOfAnotherVersionDoNotMatch) {
  CARAVAN_REQUIRE_VECTORS();
  const Result driver =
      Find(Read(kDriverRim), RimKind::kDriver, "GH100", kDriverVersion, Day(2025, 6));
  ASSERT_TRUE(driver.rim.has_value()) << driver.appraisal.ToStatus();
  const auto comparison = CompareGolden(
      {&driver.rim->rim}, ReadBlocks("nvidia/go-nvtrust/attestationReport.txt"), false);
  EXPECT_FALSE(comparison.Matches());
  EXPECT_GT(comparison.Count(GoldenFinding::Kind::kMismatch), 0u);
}

TEST(GoldenVectors, ValuesOfAnotherBoardDoNotMatch) {
  CARAVAN_REQUIRE_VECTORS();
  const Result vbios =
      Find(Read(absl::StrCat(kSamples,
                             "NV_GPU_VBIOS_1010_0200_882_96005E0001_measurement_mismatch.xml")),
           RimKind::kVbios, "GH100", "96.00.5E.00.01", Day(2025, 7));
  ASSERT_TRUE(vbios.rim.has_value()) << vbios.appraisal.ToStatus();
  const std::pair<const char*, size_t> reports[] = {
      {"nvidia/go-nvtrust/attestationReport.txt", 4},
      {"nvidia/attestation-sdk/hopperAttestationReport.txt", 3},
      {"nvidia/attestation-sdk/sample_attestation_data/gpu/hopperAttestationReport.txt", 1}};
  for (const auto& [report, mismatches] : reports) {
    const auto comparison = CompareGolden({&vbios.rim->rim}, ReadBlocks(report), false);
    EXPECT_FALSE(comparison.Matches()) << report;
    EXPECT_EQ(comparison.Count(GoldenFinding::Kind::kMismatch), mismatches) << report;
  }
}

// A manifest whose values were changed after it had been signed is refused before any is read.
TEST(GoldenVectors, AChangedManifestIsRefused) {
  CARAVAN_REQUIRE_VECTORS();
  ExpectRefused(absl::StrCat(kSamples, "NV_GPU_DRIVER_GH100_535.86.09_measurement_mismatch.xml"),
                RimKind::kDriver, "GH100", "535.86.09", Day(2025, 7), "RIM_SIGNATURE");
}

}  // namespace
}  // namespace caravan::attestation::nvidia
