// SPDX-License-Identifier: Apache-2.0
//
// Nonce, mode, firmware, device and measurements: each rule spoiled alone in a world that passes,
// then allowed by its own field.
#include "attestation/policy/rules.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "attestation/nvidia/test_world.h"
#include "attestation/nvidia/version.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

struct Rule {
  const char* name;
  void (*spoil)(TestWorld*);
  const char* check;
  void (*allow)(TestWorld*);  // null: nothing lets it pass
  const char* chip = "GH100";
};

class NvidiaRule : public testing::TestWithParam<Rule> {};

TEST_P(NvidiaRule, RefusesUntilThePolicyAllows) {
  TestWorld world(GetParam().chip);
  world.ExpectAccepted();
  GetParam().spoil(&world);
  world.ExpectRefusedBy(GetParam().check);
  if (GetParam().allow == nullptr) return;
  const std::string strict = world.policy.SerializeAsString();
  GetParam().allow(&world);
  world.ExpectAccepted();
  // What a policy lets pass has a rule to name.
  const bool by_policy = world.policy.SerializeAsString() != strict;
  EXPECT_TRUE(!by_policy || !RulesOf(GetParam().check).empty());
}

void Flag(TestWorld* world, char flag) {
  world->device().Opaque(kFeatureFlag) = std::string{flag, '\0'};
}

void ListMode(TestWorld* world, v1::NvidiaMode mode) { world->nvidia().add_modes(mode); }

void LowerFloor(TestWorld* world, const char* vbios, const char* driver) {
  world->nvidia().mutable_floors(0)->set_vbios(vbios);
  world->nvidia().mutable_floors(0)->set_driver(driver);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, NvidiaRule,
    testing::Values(
        Rule{"NonceFirstByte", [](TestWorld* w) { w->device().report.nonce[0] ^= 1; },
             "NVIDIA_NONCE", nullptr},
        Rule{"NonceLastByte", [](TestWorld* w) { w->device().report.nonce[31] ^= 1; },
             "NVIDIA_NONCE", nullptr},
        // The responder's own nonce is no answer to ours.
        Rule{
            "NonceOfTheResponder",
            [](TestWorld* w) { w->device().report.responder_nonce.swap(w->device().report.nonce); },
            "NVIDIA_NONCE", nullptr},
        Rule{"Fwid", [](TestWorld* w) { w->device().Opaque(kFwid)[47] ^= 1; }, "NVIDIA_FWID",
             nullptr},
        Rule{"FwidOfBlackwell", [](TestWorld* w) { w->device().Opaque(kFwid)[0] ^= 1; },
             "NVIDIA_FWID", nullptr, "GB100"},
        Rule{"NoFwid", [](TestWorld* w) { w->device().DropOpaque(kFwid); }, "NVIDIA_FWID",
             [](TestWorld* w) { w->nvidia().set_allow_missing_fwid(true); }},
        Rule{"NoFwidOfASwitch", [](TestWorld* w) { w->nvidia().set_allow_missing_fwid(false); },
             "NVIDIA_FWID", [](TestWorld* w) { w->nvidia().set_allow_missing_fwid(true); },
             "LS_10"},
        Rule{"CertificateWithoutFwid",
             [](TestWorld* w) { w->device().leaf().extensions.pop_back(); }, "NVIDIA_FWID",
             nullptr},
        Rule{"ChipOfAnotherFamily",
             [](TestWorld* w) { w->device().Opaque(kChipInfo) = std::string("GB100\0", 6); },
             "NVIDIA_CHIP_INFO", [](TestWorld* w) { w->device().Opaque(kChipInfo) = "GH100"; }},
        Rule{"ProductOfAnotherFamily",
             [](TestWorld* w) { w->device().Opaque(kChipInfo) = "GB200"; }, "NVIDIA_CHIP_INFO",
             nullptr},
        Rule{"ChipOfAnEarlierFamily", [](TestWorld* w) { w->device().Opaque(kChipInfo) = "GH100"; },
             "NVIDIA_CHIP_INFO", [](TestWorld* w) { w->device().Opaque(kChipInfo) = "GB200"; },
             "GB100"},
        Rule{"OtherDevice", [](TestWorld* w) { w->nvidia().set_pdis(0, std::string(16, '1')); },
             "NVIDIA_DEVICE",
             [](TestWorld* w) {
               w->nvidia().clear_pdis();
               w->nvidia().set_any_device(true);
             }},
        Rule{"OtherSwitch", [](TestWorld* w) { w->nvidia().set_pdis(0, std::string(16, '1')); },
             "NVIDIA_DEVICE",
             [](TestWorld* w) {
               w->nvidia().clear_pdis();
               w->nvidia().set_any_device(true);
             },
             "LS_10"},
        Rule{"MultiPassthrough", [](TestWorld* w) { Flag(w, 1); }, "NVIDIA_MODE",
             [](TestWorld* w) { ListMode(w, v1::NVIDIA_MPT); }},
        Rule{"ProtectedPcie",
             [](TestWorld* w) {
               Flag(w, 2);
               w->device().Opaque(kProtectedPcieStatus) = "\xAA";
             },
             "NVIDIA_MODE", [](TestWorld* w) { ListMode(w, v1::NVIDIA_PPCIE); }},
        Rule{"ProtectedPcieOfAnEarlyDriver",
             [](TestWorld* w) {
               w->device().DropOpaque(kFeatureFlag);
               w->device().Opaque(kProtectedPcieStatus) = "\xAA";
             },
             "NVIDIA_MODE", [](TestWorld* w) { ListMode(w, v1::NVIDIA_PPCIE); }},
        Rule{"SinglePassthroughWhereProtectedPcieIsWanted",
             [](TestWorld* w) { w->nvidia().set_modes(0, v1::NVIDIA_PPCIE); }, "NVIDIA_MODE",
             [](TestWorld* w) { ListMode(w, v1::NVIDIA_SPT); }},
        Rule{"NoMode", [](TestWorld* w) { w->device().DropOpaque(kFeatureFlag); }, "NVIDIA_MODE",
             [](TestWorld* w) { ListMode(w, v1::NVIDIA_UNSTATED); }},
        Rule{"UnknownMode",
             [](TestWorld* w) {
               Flag(w, 3);
               ListMode(w, v1::NVIDIA_MPT);
               ListMode(w, v1::NVIDIA_PPCIE);
               ListMode(w, v1::NVIDIA_UNSTATED);
             },
             "NVIDIA_MODE", nullptr},
        // What the report says of its mode in two places.
        Rule{"ModesThatContradict",
             [](TestWorld* w) {
               w->device().Opaque(kProtectedPcieStatus) = "\xAA";
               ListMode(w, v1::NVIDIA_PPCIE);
             },
             "NVIDIA_MODE", nullptr},
        Rule{"UnlockedSwitch",
             [](TestWorld* w) { w->device().Opaque(kLockSwitchStatus) = std::string("\0\0", 2); },
             "NVIDIA_SWITCH_LOCK",
             [](TestWorld* w) { w->nvidia().set_allow_unlocked_switches(true); }, "LS_10"},
        Rule{"SwitchThatDoesNotSay",
             [](TestWorld* w) { w->device().DropOpaque(kLockSwitchStatus); }, "NVIDIA_SWITCH_LOCK",
             [](TestWorld* w) { w->nvidia().set_allow_unlocked_switches(true); }, "LS_10"},
        Rule{"OldDriver", [](TestWorld* w) { w->device().Opaque(kDriverVersion) = "550.90.06"; },
             "NVIDIA_DRIVER", [](TestWorld* w) { LowerFloor(w, "96.00.9F.00.01", "550.90.6"); }},
        Rule{"OldVbios", [](TestWorld* w) { w->device().Opaque(kVbiosVersion)[1] = '\x9e'; },
             "NVIDIA_VBIOS", [](TestWorld* w) { LowerFloor(w, "96.00.5E", "550.90.07"); }},
        Rule{"OldVbiosOfASwitch",
             [](TestWorld* w) { w->device().Opaque(kVbiosVersion) = "96.10.54.FF.FF"; },
             "NVIDIA_VBIOS", [](TestWorld* w) { LowerFloor(w, "96.10", ""); }, "LS_10"},
        Rule{"NoDriverVersion", [](TestWorld* w) { w->device().Opaque(kDriverVersion).clear(); },
             "NVIDIA_CLASS", nullptr},
        Rule{"ChipWithoutAFloor",
             [](TestWorld* w) { w->nvidia().mutable_floors(0)->set_chip("GB100"); }, "NVIDIA_VBIOS",
             [](TestWorld* w) {
               w->nvidia().clear_floors();
               w->nvidia().set_any_firmware(true);
             }},
        Rule{"TrailingBytes",
             [](TestWorld* w) {
               w->device().edit_signed_report = [](std::string* report) { *report += "x"; };
             },
             "NVIDIA_TRAILER", nullptr},
        Rule{"Spdm12",
             [](TestWorld* w) {
               w->device().report.request_version = w->device().report.response_version = 0x12;
             },
             "NVIDIA_REPORT_FORM", nullptr}),
    [](const auto& info) { return info.param.name; });

TEST(NvidiaTrailer, TakesZeros) {
  TestWorld world;
  world.device().edit_signed_report = [](std::string* report) { report->push_back('\0'); };
  world.ExpectAccepted();
}

// What nobody knows yet is signed like the rest: it is named, not refused.
TEST(NvidiaUnknown, FieldsWarn) {
  TestWorld world;
  world.device().report.parameter1 = 7;
  EXPECT_EQ(TestWorld::OutcomeOf(world.Appraise(), "NVIDIA_REPORT_UNKNOWN"), "warned");
  world.ExpectAccepted();
}

TEST(NvidiaUnknown, OpaqueTypesAreLeftAlone) {
  for (const char* chip : {"GH100", "GB100", "LS_10"}) {
    TestWorld world(chip);
    world.device().Opaque(500) = "what nobody knows yet";
    world.device().report.opaque.emplace_back(500, "and again");
    world.ExpectAccepted();
  }
}

TEST(NvidiaNonce, IsNeverOptionalByBeingAbsent) {
  TestWorld world;
  // A session's expectation without one for its devices.
  world.expected = ReportDataExpectation::Exactly(ReportData());
  world.ExpectRefusedBy("NVIDIA_NONCE", Verdict::kNone);
}

TEST(NvidiaNonce, SaysThatItWasNotChecked) {
  TestWorld world;
  world.expected = ReportDataExpectation::NotChecked();
  const Appraisal appraisal = world.Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning);
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_NONCE"), "skipped");
}

// A genuine device's certificate and measurements, but no manifest to hold them against.
TEST(NvidiaMeasurements, CannotBeVerifiedWithoutManifests) {
  for (const char* chip : {"GH100", "GB100", "LS_10"}) {
    TestWorld world(chip);
    world.nvidia().set_any_measurement(false);
    const bool is_switch = std::string_view(chip) == "LS_10";
    world.ExpectRefusedBy(is_switch ? "NVIDIA_SWITCH_RIM" : "NVIDIA_DRIVER_RIM", Verdict::kNone);
    const Appraisal appraisal = world.Appraise();
    EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_GOLDEN"), "missing");
    EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_PRODUCTION"), "absent");
    EXPECT_NE(appraisal.Decisive()->hint.find(is_switch ? "NV_SWITCH_BIOS_" : "DRIVER_"),
              std::string::npos);
  }
}

TEST(NvidiaClaims, TellWhatTheDeviceIs) {
  TestWorld world;
  const auto claims = world.Appraise().claims;
  EXPECT_EQ(claims.at("gpu0_chip"), "GH100");
  EXPECT_EQ(claims.at("gpu0_driver_version"), "550.90.07");
  EXPECT_EQ(claims.at("gpu0_vbios_version"), "96.00.9F.00.01");
  EXPECT_EQ(claims.at("gpu0_pdi"), "a1b2c3d4e5f60701");
  EXPECT_EQ(claims.at("gpu0_mode"), "NVIDIA_SPT");
  EXPECT_EQ(claims.at("gpu0_nonce").substr(0, 4), "0102");
}

// R and s of the report's signature.
TEST(NvidiaSignature, RefusesScalarsOfZeroAndTheOrder) {
  const std::string order = absl::HexStringToBytes(
      "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf"
      "581a0db248b0a77aecec196accc52973");
  // Values for r, then for s; empty: as it was signed.
  const std::string zero(48, '\0');
  const std::pair<std::string, std::string> signatures[] = {
      {zero, ""},   {"", zero},    {order, ""},   {"", order},
      {zero, zero}, {zero, order}, {order, zero}, {order, order}};
  for (const auto& [r, s] : signatures) {
    TestWorld world;
    world.device().edit_signed_report = [r = r, s = s](std::string* report) {
      if (!r.empty()) report->replace(report->size() - 96, 48, r);
      if (!s.empty()) report->replace(report->size() - 48, 48, s);
    };
    world.ExpectRefusedBy("NVIDIA_SIGNATURE");
  }
}

// One flipped bit in any byte, signed or not, is refused.
TEST(NvidiaSignature, RefusesAFlippedBitInAnyByte) {
  for (const char* chip : {"GH100", "GB100", "LS_10"}) {
    TestWorld world(chip);
    const EvidenceSet genuine = world.MakeEvidence();
    const auto accepted = [&](const EvidenceSet& set) {
      return VerifyStored(set, {}, world.policy, ReportDataExpectation::NotChecked(), world.now)
          .accepted();
    };
    ASSERT_TRUE(accepted(genuine));
    for (size_t at = 0; at < genuine.items[0].report.size(); at += 13) {
      EvidenceSet changed = genuine;
      changed.items[0].report[at] ^= static_cast<char>(1 << (at % 8));
      EXPECT_FALSE(accepted(changed)) << chip << " " << at;
    }
  }
}

TEST(Versions, AreComparedPartByPart) {
  const auto compare = [](const char* a, const char* b, VersionBase base) {
    return *CompareVersions(a, b, base);
  };
  EXPECT_LT(compare("550.90.07", "550.144.03", VersionBase::kDecimal), 0);
  EXPECT_GT(compare("1000.1", "999.9", VersionBase::kDecimal), 0);
  EXPECT_EQ(compare("550.90", "550.90.0", VersionBase::kDecimal), 0);
  EXPECT_EQ(compare("550.90.07", "550.90.7", VersionBase::kDecimal), 0);
  EXPECT_LT(compare("96.00.9F.00.01", "96.00.AF.00.01", VersionBase::kHexadecimal), 0);
  EXPECT_EQ(compare("96.00.9f.00.01", "96.00.9F.00.01", VersionBase::kHexadecimal), 0);
  EXPECT_GT(compare("96.10.00.00.00", "96.00.FF.FF.FF", VersionBase::kHexadecimal), 0);
}

TEST(Versions, RefuseWhatIsNone) {
  for (const char* text : {"", ".", "1.", ".1", "1..2", "1.x", "1234567", "1.2.3.4.5.6.7.8.9"}) {
    EXPECT_FALSE(CompareVersions(text, "1", VersionBase::kDecimal).ok()) << text;
    EXPECT_FALSE(CompareVersions("1", text, VersionBase::kDecimal).ok()) << text;
  }
  EXPECT_FALSE(CompareVersions("9F", "1", VersionBase::kDecimal).ok());
}

}  // namespace
}  // namespace caravan::attestation::nvidia
