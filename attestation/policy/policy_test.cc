// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/policy.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using testing::HasSubstr;

const std::string kSha384(96, 'a');

std::string Valid(const std::string& more = "", const std::string& top = "") {
  return "name: \"prod\"\n" + top + "snp {\n  any_measurement: true\n  any_platform: true\n" +
         "  any_tcb: true\n" + more + "}\n";
}

// A policy for one of Intel's kinds that is whole but for what is given.
std::string Intel(const std::string& kind, const std::string& rules, const std::string& platform) {
  return "name: \"p\"\n" + kind + " {\n " + rules + "\n platform {\n  any_platform: true " +
         "min_tcb_evaluation_number: 17\n " + platform + " } }\n";
}

// A policy for NVIDIA's devices that is whole but for what is given.
std::string Nvidia(const std::string& rules) {
  return "name: \"p\"\nnvidia {\n any_device: true any_measurement: true\n " + rules + " }\n";
}

std::string ErrorOf(const std::string& text) {
  const auto policy = ParsePolicy(text, "p.textproto");
  return policy.ok() ? "" : std::string(policy.status().message());
}

TEST(Policy, ReadsAWholeOne) {
  const auto policy =
      ParsePolicy("name: \"prod\"\nsnp {\n  measurements { name: \"caravand\" sha384: \"" +
                      std::string(96, 'A') + "\" }\n  chip_ids: \"" + std::string(128, 'C') +
                      "\"\n  tcb_floors { product: MILAN snp: 24 microcode: 219 }\n}\n",
                  "p.textproto");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->snp().measurements(0).sha384(), kSha384);
  EXPECT_EQ(policy->snp().chip_ids(0), std::string(128, 'c'));
}

struct Bad {
  const char* name;
  std::string text;
  const char* error;
};

class BadPolicy : public testing::TestWithParam<Bad> {};

TEST_P(BadPolicy, IsRefusedWithPlaceAndReason) {
  EXPECT_THAT(ErrorOf(GetParam().text), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPolicy,
    testing::Values(
        Bad{"Empty", "", "p.textproto: name: is \"\""},
        Bad{"Syntax", "name: \"prod\"\nsnp {\n", "p.textproto:3:1: "},
        Bad{"UnknownField", "name: \"prod\"\nalow_insecure: true\n", "p.textproto:2:14: "},
        Bad{"Twice", "name: \"a\"\nname: \"b\"\n", "p.textproto:2:"},
        Bad{"BadName", Valid("", "").replace(7, 4, "p d!"), "p.textproto:1:1: name: "},
        Bad{"NoMeasurement", "name: \"p\"\nsnp {\n any_platform: true any_tcb: true }",
            "p.textproto:2:1: snp: measurements is empty"},
        Bad{"NoPlatform", "name: \"p\"\nsnp {\n any_measurement: true any_tcb: true }",
            "p.textproto:2:1: snp: chip_ids is empty"},
        Bad{"NoFloor", "name: \"p\"\nsnp {\n any_measurement: true any_platform: true }",
            "p.textproto:2:1: snp: tcb_floors is empty"},
        Bad{"AnyAndListed", Valid("  chip_ids: \"" + std::string(128, '1') + "\"\n"),
            "p.textproto:4:3: snp.any_platform: is set, but chip_ids says otherwise"},
        Bad{"ShortDigest",
            "name: \"p\"\nsnp {\n measurements {\n  name: \"m\"\n  sha384: \"abcd\" }\n "
            "any_platform: true any_tcb: true }",
            "p.textproto:5:3: snp.measurements[0].sha384: has 4 hexadecimal digits, expected 96"},
        Bad{"NotHex", Valid("  family_ids: \"" + std::string(32, 'x') + "\"\n"),
            "p.textproto:6:3: snp.family_ids[0]: is not hexadecimal, expected 32 digits"},
        Bad{"HostData", Valid("  host_data: \"00\"\n"), "p.textproto:6:3: snp.host_data[0]: "},
        Bad{"MaskedChip",
            "name: \"p\" snp { any_measurement: true any_tcb: true chip_ids: \"" +
                std::string(128, '0') + "\" }",
            "snp.chip_ids[0]: is zero"},
        Bad{"TwoFloors",
            "name: \"p\" snp { any_measurement: true any_platform: true\n"
            "tcb_floors { product: MILAN }\n tcb_floors { product: MILAN } }",
            "p.textproto:3:2: snp.tcb_floors[1]: is a second one for MILAN"},
        Bad{"FmcOnMilan",
            "name: \"p\" snp { any_measurement: true any_platform: true\n"
            "tcb_floors { product: MILAN fmc: 1 } }",
            "only turin has that component"},
        Bad{"HugeComponent",
            "name: \"p\" snp { any_measurement: true any_platform: true\n"
            "tcb_floors { product: MILAN snp: 256 } }",
            "asks for 256, over 255"},
        Bad{"Vmpl", Valid("  max_vmpl: 4\n"), "p.textproto:6:3: snp.max_vmpl: is over 3"},
        Bad{"Contradiction", Valid("  forbidden_platform_info: ALIAS_CHECK_COMPLETE\n"),
            "snp.forbidden_platform_info[0]: is required as well"},
        Bad{"CspWithoutVlek", Valid("  vlek_csp_ids: \"CN=x\"\n"), "allow_vlek is not set"},
        Bad{"TdxWithoutPlatform", "name: \"p\"\ntdx { any_measurement: true }",
            "p.textproto:2:1: tdx: platform is missing"},
        Bad{"TdxWithoutMeasurement", Intel("tdx", "", ""), "tdx: measurements is empty"},
        Bad{"SgxWithoutEnclave", Intel("sgx", "", ""), "sgx: enclaves is empty"},
        Bad{"NoEvaluationNumber",
            "name: \"p\" tdx { any_measurement: true\nplatform { any_platform: true } }",
            "p.textproto:2:1: tdx.platform: min_tcb_evaluation_number is not set"},
        Bad{"NoMachine",
            "name: \"p\" tdx { any_measurement: true\nplatform { min_tcb_evaluation_number: 1 } }",
            "tdx.platform: ppids is empty"},
        Bad{"StatusTwice",
            Intel("tdx", "any_measurement: true",
                  "accepted_tcb { status: OUT_OF_DATE }\n accepted_tcb { status: OUT_OF_DATE }"),
            "tdx.platform.accepted_tcb[1]: is a second one for OUT_OF_DATE"},
        Bad{"StatusUnnamed", Intel("tdx", "any_measurement: true", "accepted_tcb { }"),
            "tdx.platform.accepted_tcb[0]: names no status"},
        Bad{"RevokedHasNoName",
            Intel("tdx", "any_measurement: true", "accepted_tcb { status: REVOKED }"), "REVOKED"},
        Bad{"GraceOfWhatHasNoDate",
            Intel("tdx", "any_measurement: true",
                  "accepted_tcb { status: UP_TO_DATE grace_days: 3 }"),
            "accepted_tcb[0].grace_days: is set, but"},
        Bad{"Advisory", Intel("sgx", "any_enclave: true", "refused_advisories: \"SA-1\""),
            "sgx.platform.refused_advisories[0]: is no id"},
        Bad{"Fmspc", Intel("sgx", "any_enclave: true", "fmspcs: \"00\""),
            "sgx.platform.fmspcs[0]: has 2 hexadecimal digits, expected 12"},
        Bad{"Register", Intel("tdx", "measurements { name: \"m\" mrtd: \"aa\" }", ""),
            "tdx.measurements[0].mrtd: has 2 hexadecimal digits, expected 96"},
        Bad{"AnyOwnerAndListed",
            Intel("tdx", "any_measurement: true any_mr_owner: true mr_owners: \"" + kSha384 + "\"",
                  ""),
            "tdx.any_mr_owner: is set, but mr_owners says otherwise"},
        Bad{"XfamBothWays",
            Intel("tdx", "any_measurement: true required_xfam: 3 forbidden_xfam: 2", ""),
            "tdx.forbidden_xfam: has bits that are required as well"},
        Bad{"EnclaveOfNothing", Intel("sgx", "enclaves { name: \"e\" }", ""),
            "sgx.enclaves[0]: has neither mr_enclave nor mr_signer"},
        Bad{"IntelRootPinnedAsInsecure",
            Valid("",
                  "allow_insecure: true\ninsecure_root_spki_sha256: "
                  "\"A0AF031289f5d5d4132f9186068a7fc13628633ba235777472e29b6b6c67a49e\"\n"),
            "insecure_root_spki_sha256[0]: is a genuine Intel root"},
        Bad{"NvidiaRootPinnedAsInsecure",
            Valid("",
                  "allow_insecure: true\ninsecure_root_spki_sha256: "
                  "\"a90c4eb5acfd3e3d03a25db6a26b84f720ad0503196c627c21ddd48dd85b06a4\"\n"),
            "insecure_root_spki_sha256[0]: is a genuine NVIDIA root"},
        Bad{"NvidiaWithoutDevices", "name: \"p\"\nnvidia { any_firmware: true modes: NVIDIA_SPT }",
            "p.textproto:2:1: nvidia: pdis is empty"},
        Bad{"NvidiaWithoutFloors", Nvidia("modes: NVIDIA_SPT"), "nvidia: floors is empty"},
        Bad{"NvidiaWithoutModes", Nvidia("any_firmware: true"), "nvidia: modes is empty"},
        Bad{"NvidiaModeUnspecified", Nvidia("any_firmware: true modes: NVIDIA_MODE_UNSPECIFIED"),
            "nvidia.modes[0]: is no mode"},
        Bad{"NvidiaModeTwice", Nvidia("any_firmware: true modes: NVIDIA_SPT modes: NVIDIA_SPT"),
            "nvidia.modes[1]: stands there twice"},
        Bad{"NvidiaPdi", Nvidia("any_firmware: true modes: NVIDIA_SPT pdis: \"00\""),
            "nvidia.pdis[0]: has 2 hexadecimal digits, expected 16"},
        Bad{"NvidiaAnyDeviceAndListed",
            Nvidia("any_firmware: true modes: NVIDIA_SPT pdis: \"0011223344556677\""),
            "nvidia.any_device: is set, but pdis says otherwise"},
        Bad{"NvidiaFloorAndAny",
            Nvidia("modes: NVIDIA_SPT any_firmware: true\n floors { chip: \"GH100\" vbios: \"96\" "
                   "driver: \"550\" }"),
            "nvidia.any_firmware: is set, but floors says otherwise"},
        Bad{"NvidiaFloorTwice",
            Nvidia("modes: NVIDIA_SPT floors { chip: \"GH100\" vbios: \"96\" driver: \"550\" }\n "
                   "floors { chip: \"GH100\" vbios: \"96\" driver: \"550\" }"),
            "p.textproto:5:2: nvidia.floors[1]: is a second one for GH100"},
        Bad{"NvidiaFloorWithoutChip", Nvidia("modes: NVIDIA_SPT floors { vbios: \"96\" }"),
            "nvidia.floors[0]: names no chip"},
        Bad{"NvidiaFloorWithoutDriver",
            Nvidia("modes: NVIDIA_SPT floors { chip: \"GH100\" vbios: \"96\" }"),
            "nvidia.floors[0].driver: is no version"},
        Bad{"NvidiaDriverOfASwitch",
            Nvidia("modes: NVIDIA_SPT floors { chip: \"LS_10\" vbios: \"96\" driver: \"550\" }"),
            "nvidia.floors[0].driver: is set, but"},
        Bad{"NvidiaVbios", Nvidia("modes: NVIDIA_SPT floors { chip: \"LS_10\" vbios: \"96..10\" }"),
            "nvidia.floors[0].vbios: is no version"},
        Bad{"NvidiaUncoveredOfAny",
            Nvidia("any_firmware: true modes: NVIDIA_SPT allow_uncovered_measurements: true"),
            "allow_uncovered_measurements: is set, but any_measurement"},
        Bad{"NvidiaTooMany", Nvidia("any_firmware: true modes: NVIDIA_SPT gpus: 65"),
            "nvidia.gpus: is over 64"},
        Bad{"InsecureWithoutPin", Valid("", "allow_insecure: true\n"),
            "p.textproto:2:1: allow_insecure: is set, but"},
        Bad{"PinWithoutInsecure",
            Valid("", "insecure_root_spki_sha256: \"" + std::string(64, '1') + "\"\n"),
            "allow_insecure is not set"},
        Bad{"GenuineRootPinnedAsInsecure",
            Valid("",
                  "allow_insecure: true\ninsecure_root_spki_sha256: "
                  "\"9F056bee44377e29308cb5ffa895bdfb62d18881fa6bed8d6f075b0204089cb9\"\n"),
            "p.textproto:3:1: insecure_root_spki_sha256[0]: is a genuine AMD root"}),
    [](const auto& info) { return info.param.name; });

TEST(Policy, ReportsEveryErrorAtOnce) {
  const std::string errors = ErrorOf(Valid("  max_vmpl: 4\n  host_data: \"0\"\n"));
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1);
}

TEST(Policy, RefusesOneThatIsTooLong) {
  EXPECT_THAT(ErrorOf(Valid() + std::string(kMaxPolicySize, ' ')), HasSubstr("at most"));
}

TEST(PolicyDigest, IgnoresCaseAndSpacingAlone) {
  const auto digest = [](const std::string& text) { return PolicyDigest(*ParsePolicy(text, "p")); };
  const std::string lower = Valid("host_data: \"" + std::string(64, 'a') + "\"\n");
  const std::string upper = Valid("  host_data:\n\"" + std::string(64, 'A') + "\"\n");
  EXPECT_EQ(digest(lower), digest(upper));
  EXPECT_NE(digest(lower), digest(Valid()));
  EXPECT_NE(digest(Valid()), digest(Valid("allow_debug: true\n")));
}

TEST(PolicyLabel, NamesPolicyAndDigest) {
  EXPECT_THAT(PolicyLabel(*ParsePolicy(Valid(), "p")),
              testing::MatchesRegex("prod@sha256:[0-9a-f]{12}"));
}

TEST(ExplainPolicy, SaysLoudlyWhatLetsEverythingPass) {
  const std::string text = absl::StrJoin(
      ExplainPolicy(*ParsePolicy(Valid("allow_debug: true allow_missing_crl: true\n"), "p")), "\n");
  EXPECT_THAT(text, HasSubstr("ANY MEASUREMENT"));
  EXPECT_THAT(text, HasSubstr("ANY FIRMWARE LEVEL"));
  EXPECT_THAT(text, HasSubstr("THE HOST CAN READ THEIR MEMORY"));
  EXPECT_THAT(text, HasSubstr("WITHOUT A FRESH REVOCATION LIST"));
  EXPECT_THAT(text, HasSubstr("refuses software stand-ins"));
}

TEST(ExplainPolicy, SaysWhatItLetsPassOfIntels) {
  const std::string text = absl::StrJoin(
      ExplainPolicy(*ParsePolicy(
          Intel("tdx", "measurements { name: \"m\" mrtd: \"" + kSha384 + "\" } allow_debug: true",
                "accepted_tcb { status: OUT_OF_DATE grace_days: 30 } allow_missing_crl: true"),
          "p")),
      "\n");
  EXPECT_THAT(text, HasSubstr("tdx: accepts the TCB status OUT_OF_DATE for 30 days"));
  EXPECT_THAT(text, HasSubstr("NOT CHECKED: RTMR0, RTMR1, RTMR2, RTMR3"));
  EXPECT_THAT(text, HasSubstr("THE HOST CAN READ THEIR MEMORY"));
  EXPECT_THAT(text, HasSubstr("WITHOUT FRESH REVOCATION LISTS"));
  EXPECT_THAT(text, HasSubstr("requires MRCONFIGID to be zero"));
  EXPECT_THAT(text, HasSubstr("sev-snp: refused"));
  EXPECT_THAT(text, HasSubstr("sgx: refused"));
  const auto policy =
      ParsePolicy(Intel("sgx", "any_enclave: true", "accepted_tcb { status: OUT_OF_DATE }"), "p");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_THAT(absl::StrJoin(ExplainPolicy(*policy), "\n"), HasSubstr("OUT_OF_DATE FOR EVER"));
}

TEST(ExplainPolicy, SaysWhatItLetsPassOfNvidias) {
  const auto lenient = ParsePolicy(
      Nvidia("any_firmware: true modes: NVIDIA_PPCIE modes: NVIDIA_UNSTATED "
             "allow_missing_ocsp: true allow_certificate_hold: true allow_missing_fwid: true"),
      "p");
  ASSERT_TRUE(lenient.ok()) << lenient.status();
  const std::string text = absl::StrJoin(ExplainPolicy(*lenient), "\n");
  EXPECT_THAT(text, HasSubstr("nvidia: accepts any genuine device"));
  EXPECT_THAT(text, HasSubstr("ANY DRIVER AND VBIOS"));
  EXPECT_THAT(text, HasSubstr("DevTools mode pass unseen"));
  EXPECT_THAT(text, HasSubstr("NVLINK IS NOT ENCRYPTED"));
  EXPECT_THAT(text, HasSubstr("WITHOUT A FRESH OCSP ANSWER"));
  EXPECT_THAT(text, HasSubstr("accepts certificates on hold"));
  const auto strict = ParsePolicy(
      "name: \"p\" nvidia { pdis: \"AABBCCDDEEFF0011\" modes: NVIDIA_SPT gpus: 8 floors { chip: "
      "\"GH100\" vbios: \"96.00.9F.00.01\" driver: \"550.90.07\" } }",
      "p");
  ASSERT_TRUE(strict.ok()) << strict.status();
  const std::string rules = absl::StrJoin(ExplainPolicy(*strict), "\n");
  EXPECT_THAT(rules, HasSubstr("accepts 1 listed device: aabbccddeeff0011"));
  EXPECT_THAT(rules, HasSubstr("on GH100: vbios >= 96.00.9F.00.01, driver >= 550.90.07"));
  EXPECT_THAT(rules, HasSubstr("requires exactly 8 gpus"));
  EXPECT_THAT(rules, HasSubstr("requires measurements as in NVIDIA's reference values"));
  EXPECT_THAT(rules, HasSubstr("refuses certificates on hold"));
}

TEST(ExplainPolicy, SaysThatAPolicyWithoutSnpRefusesIt) {
  const auto lines = ExplainPolicy(*ParsePolicy("name: \"p\"", "p"));
  EXPECT_THAT(lines.back(), HasSubstr("no rules"));
}

}  // namespace
}  // namespace caravan::attestation
