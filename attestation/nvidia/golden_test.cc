// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/golden.h"

#include <string>

#include "attestation/nvidia/rim_id.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using Kind = GoldenFinding::Kind;

crypto::Sha384Digest Digest(uint8_t value) {
  crypto::Sha384Digest digest;
  digest.fill(value);
  return digest;
}
std::string Value(char value) { return std::string(48, value); }

// A driver and a VBIOS whose measurements `measured` are.
class Golden : public testing::Test {
 protected:
  GoldenComparison Compare() { return CompareGolden({&driver, &vbios}, measured, nvdec0_disabled); }
  void ExpectOnly(Kind kind) {
    const GoldenComparison comparison = Compare();
    EXPECT_FALSE(comparison.Matches());
    ASSERT_EQ(comparison.findings.size(), 1u);
    EXPECT_EQ(comparison.findings[0].kind, kind);
    EXPECT_FALSE(comparison.findings[0].detail.empty());
  }

  Rim driver{.kind = RimKind::kDriver,
             .version = "545.00",
             .golden = {{0, false, "Measurement_0", {Digest(0)}},
                        {7, true, "Measurement_7", {Digest(0x70)}},
                        {35, true, "HashedMeasurement_35", {Digest(0x35), Digest(0x36)}}}};
  Rim vbios{.kind = RimKind::kVbios,
            .version = "96.00.5E.00.01",
            .golden = {{0, true, "Measurement_0", {Digest(0x10)}}}};
  // Golden index i is SPDM block i + 1.
  std::vector<MeasuredBlock> measured = {
      {1, Value(0x10)}, {8, Value(0x70)}, {36, Value(0x36)}, {40, Value(0)}};
  bool nvdec0_disabled = false;
};

TEST_F(Golden, MatchesWithAnyAlternative) {
  const GoldenComparison comparison = Compare();
  EXPECT_TRUE(comparison.Matches());
  EXPECT_EQ(comparison.compared, 3u);
  EXPECT_TRUE(comparison.findings.empty());
  measured[2].value = Value(0x35);
  EXPECT_TRUE(Compare().Matches());
}

TEST_F(Golden, RefusesAnyOtherValue) {
  measured[1].value = Value(0x71);
  ExpectOnly(Kind::kMismatch);
  EXPECT_EQ(Compare().findings[0].index, 7);
  measured[1].value = std::string(47, 0x70);  // a prefix
  ExpectOnly(Kind::kMismatch);
  measured[1].value = "";
  ExpectOnly(Kind::kMismatch);
}

TEST_F(Golden, RefusesAValueAtAnotherIndex) {
  measured[1].index = 7;
  EXPECT_EQ(Compare().Count(Kind::kNotMeasured), 1u);
  EXPECT_EQ(Compare().Count(Kind::kUncovered), 1u);
  EXPECT_FALSE(Compare().Matches());
}

TEST_F(Golden, RefusesAReportThatLeavesOneOut) {
  measured.erase(measured.begin());
  ExpectOnly(Kind::kNotMeasured);
}

TEST_F(Golden, RefusesAnIndexThatIsActiveInBoth) {
  vbios.golden.push_back({7, true, "Measurement_7", {Digest(0x70)}});
  ExpectOnly(Kind::kConflict);
}

TEST_F(Golden, RefusesABlockThatIsThereTwice) {
  measured.push_back({8, Value(0x71)});
  ExpectOnly(Kind::kRepeated);
}

TEST_F(Golden, TellsOfBlocksThatNoManifestCovers) {
  measured[3].value = Value(0x40);
  const GoldenComparison comparison = Compare();
  EXPECT_TRUE(comparison.Matches());
  ASSERT_EQ(comparison.findings.size(), 1u);
  EXPECT_EQ(comparison.findings[0].kind, Kind::kUncovered);
  EXPECT_EQ(comparison.findings[0].index, 39);
}

TEST_F(Golden, SkipsNvdec0WhileItIsOff) {
  measured[2].value = Value(0x77);
  ExpectOnly(Kind::kMismatch);
  nvdec0_disabled = true;
  const GoldenComparison comparison = Compare();
  EXPECT_TRUE(comparison.Matches());
  EXPECT_EQ(comparison.compared, 2u);
  EXPECT_EQ(comparison.Count(Kind::kSkipped), 1u);
}

TEST_F(Golden, NothingComparedIsNoMatch) {
  driver.golden.clear();
  vbios.golden.clear();
  EXPECT_FALSE(Compare().Matches());
  EXPECT_FALSE(CompareGolden({}, measured, false).Matches());
  driver.golden = {{35, true, "HashedMeasurement_35", {Digest(0x35)}}};
  nvdec0_disabled = true;
  EXPECT_FALSE(Compare().Matches());
}

std::vector<std::pair<std::string, Outcome>> Outcomes(const GoldenComparison& comparison,
                                                      bool allow_uncovered) {
  Appraisal appraisal;
  CheckList checks(&appraisal);
  CheckGolden("GPU", comparison, allow_uncovered, &checks);
  std::vector<std::pair<std::string, Outcome>> outcomes;
  for (const Check& check : appraisal.checks) outcomes.emplace_back(check.id, check.outcome);
  return outcomes;
}

TEST_F(Golden, BecomesThreeChecks) {
  using List = std::vector<std::pair<std::string, Outcome>>;
  const auto list = [](Outcome conflict, Outcome values, Outcome coverage) {
    return List{{"GPU_GOLDEN_CONFLICT", conflict},
                {"GPU_GOLDEN", values},
                {"GPU_GOLDEN_COVERAGE", coverage}};
  };
  constexpr Outcome kPassed = Outcome::kPassed, kFailed = Outcome::kFailed;
  EXPECT_EQ(Outcomes(Compare(), false), list(kPassed, kPassed, kPassed));
  measured[3].value = Value(0x40);
  EXPECT_EQ(Outcomes(Compare(), false), list(kPassed, kPassed, kFailed));
  EXPECT_EQ(Outcomes(Compare(), true), list(kPassed, kPassed, Outcome::kWarned));
  measured[1].value = Value(0x71);
  EXPECT_EQ(Outcomes(Compare(), true), list(kPassed, kFailed, Outcome::kWarned));
  measured.push_back(measured[0]);
  EXPECT_EQ(Outcomes(Compare(), true), list(kFailed, kFailed, Outcome::kWarned));
  EXPECT_EQ(Outcomes(GoldenComparison(), false), list(kPassed, kFailed, kPassed));
}

TEST(RimId, NamesWhatTheServiceKeeps) {
  EXPECT_EQ(*DriverRimId("GH100", "545.00"), "NV_GPU_DRIVER_GH100_545.00");
  EXPECT_EQ(*DriverRimId("GB100", "575.32"), "NV_GPU_CC_DRIVER_GB100_575.32");
  EXPECT_EQ(*VbiosRimId("1010", "0200", "882", "96.00.5e.00.01"),
            "NV_GPU_VBIOS_1010_0200_882_96005E0001");
  EXPECT_EQ(*VbiosRimId("g520", "0202", "885", "96.00.6D.00.08"),
            "NV_GPU_VBIOS_G520_0202_885_96006D0008");
  EXPECT_EQ(*SwitchRimId("96.10.55.00.01"), "NV_SWITCH_BIOS_5612_0002_890_9610550001");
}

TEST(RimId, TakesNothingThatReachesOutOfAName) {
  for (const std::string& part :
       {std::string(), std::string("../545"), std::string("545.00\0", 7), std::string("545 00"),
        std::string("545?x=1"), std::string(33, '5'), std::string("5%2f")}) {
    EXPECT_FALSE(DriverRimId("GH100", part).ok()) << part;
    EXPECT_FALSE(DriverRimId(part, "545.00").ok()) << part;
    EXPECT_FALSE(VbiosRimId("1010", part, "882", "96.00.5E.00.01").ok()) << part;
    EXPECT_FALSE(SwitchRimId(part).ok()) << part;
  }
}

}  // namespace
}  // namespace caravan::attestation::nvidia
