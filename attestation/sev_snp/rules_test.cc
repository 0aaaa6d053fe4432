// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about freshness, policy, TCB and parsing, each tried on evidence that passes
// otherwise.
#include "attestation/policy/rules.h"

#include <functional>
#include <string>

#include "attestation/sev_snp/test_world.h"
#include "base/reason.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

// Every bit of report data counts.
TEST(Freshness, RefusesAnyFlippedBitOfReportData) {
  for (size_t at : {size_t{0}, size_t{31}, size_t{32}, size_t{63}}) {
    TestWorld world;
    world.expected.bytes[at] ^= 1;
    world.ExpectRefusedBy("SNP_REPORT_DATA");
  }
}

TEST(Freshness, RefusesAPrefixOfReportData) {
  TestWorld world;
  std::fill(world.report.report_data.begin() + 32, world.report.report_data.end(), 0);
  world.ExpectRefusedBy("SNP_REPORT_DATA");
}

TEST(Freshness, RefusesEmptyReportDataOnEitherSide) {
  TestWorld attester, verifier;
  attester.report.report_data = {};
  attester.ExpectRefusedBy("SNP_REPORT_DATA");
  verifier.expected = {};
  verifier.ExpectRefusedBy("SNP_REPORT_DATA");
}

struct Rule {
  const char* name;
  std::function<void(TestWorld*)> spoil;
  const char* check;
  std::function<void(TestWorld*)> allow;  // what a policy says to let it pass; none: nothing does
};

void SetBit(TestWorld* world, int bit) { world->report.policy |= uint64_t{1} << bit; }

class SnpRule : public testing::TestWithParam<Rule> {};

TEST_P(SnpRule, RefusesByDefaultAndAllowsOnlyInSoManyWords) {
  TestWorld world;
  GetParam().spoil(&world);
  world.ExpectRefusedBy(GetParam().check);
  if (!GetParam().allow) return;
  const std::string strict = world.policy.SerializeAsString();
  GetParam().allow(&world);
  world.ExpectAccepted();
  // What a policy lets pass has a rule to name.
  const bool by_policy = world.policy.SerializeAsString() != strict;
  EXPECT_TRUE(!by_policy || !RulesOf(GetParam().check).empty());
}

INSTANTIATE_TEST_SUITE_P(
    GuestPolicy, SnpRule,
    testing::Values(
        Rule{"Debug", [](TestWorld* w) { SetBit(w, sev_snp::kDebug); }, "SNP_DEBUG",
             [](TestWorld* w) { w->snp().set_allow_debug(true); }},
        Rule{"MigrationAgent", [](TestWorld* w) { SetBit(w, sev_snp::kMigrateMa); },
             "SNP_MIGRATE_MA", [](TestWorld* w) { w->snp().set_allow_migration_agent(true); }},
        Rule{"MigrationAgentBound", [](TestWorld* w) { w->report.report_id_ma[3] = 7; },
             "SNP_REPORT_ID_MA", [](TestWorld* w) { w->snp().set_allow_migration_agent(true); }},
        Rule{"Smt", [](TestWorld* w) { SetBit(w, sev_snp::kSmtAllowed); }, "SNP_SMT",
             [](TestWorld* w) { w->snp().set_allow_smt(true); }},
        Rule{"Cxl", [](TestWorld* w) { SetBit(w, sev_snp::kCxlAllow); }, "SNP_CXL",
             [](TestWorld* w) { w->snp().set_allow_cxl(true); }},
        Rule{"ReservedBitClear",
             [](TestWorld* w) { w->report.policy &= ~(uint64_t{1} << sev_snp::kMustBeOne); },
             "SNP_POLICY_FORM", nullptr},
        Rule{"OldAbi", [](TestWorld* w) { w->report.policy -= 1; }, "SNP_ABI",
             [](TestWorld* w) { w->snp().set_min_abi_minor(0x1E); }},
        Rule{"SingleSocket", [](TestWorld* w) { w->snp().set_require_single_socket(true); },
             "SNP_SINGLE_SOCKET", [](TestWorld* w) { SetBit(w, sev_snp::kSingleSocket); }},
        Rule{"AesXts", [](TestWorld* w) { w->snp().set_require_aes_256_xts(true); },
             "SNP_AES_256_XTS", [](TestWorld* w) { SetBit(w, sev_snp::kMemAes256Xts); }},
        Rule{"Rapl", [](TestWorld* w) { w->snp().set_require_rapl_disabled(true); }, "SNP_RAPL",
             [](TestWorld* w) { SetBit(w, sev_snp::kRaplDis); }},
        Rule{"CiphertextHiding", [](TestWorld* w) { w->snp().set_require_ciphertext_hiding(true); },
             "SNP_CIPHERTEXT_HIDING", [](TestWorld* w) { SetBit(w, sev_snp::kCiphertextHiding); }},
        Rule{"PageSwap", [](TestWorld* w) { w->snp().set_require_page_swap_disabled(true); },
             "SNP_PAGE_SWAP", [](TestWorld* w) { SetBit(w, sev_snp::kPageSwapDisable); }}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Identity, SnpRule,
    testing::Values(
        Rule{"Measurement", [](TestWorld* w) { w->report.measurement[47] ^= 1; }, "SNP_MEASUREMENT",
             [](TestWorld* w) {
               w->snp().clear_measurements();
               w->snp().set_any_measurement(true);
             }},
        Rule{"Vmpl", [](TestWorld* w) { w->report.vmpl = 1; }, "SNP_VMPL",
             [](TestWorld* w) { w->snp().set_max_vmpl(1); }},
        Rule{"VmplOutOfRange",
             [](TestWorld* w) {
               w->report.vmpl = 4;
               w->snp().set_max_vmpl(3);
             },
             "SNP_VMPL", nullptr},
        Rule{"HostRequested", [](TestWorld* w) { w->report.vmpl = sev_snp::kHostRequestedVmpl; },
             "SNP_VMPL", [](TestWorld* w) { w->snp().set_allow_host_requested(true); }},
        Rule{"GuestSvn", [](TestWorld* w) { w->snp().set_min_guest_svn(2); }, "SNP_GUEST_SVN",
             [](TestWorld* w) { w->report.guest_svn = 2; }},
        Rule{"FamilyId", [](TestWorld* w) { w->snp().add_family_ids("01" + std::string(30, '0')); },
             "SNP_FAMILY_ID", [](TestWorld* w) { w->report.family_id[0] = 1; }},
        Rule{"ImageId", [](TestWorld* w) { w->snp().add_image_ids("01" + std::string(30, '0')); },
             "SNP_IMAGE_ID", [](TestWorld* w) { w->report.image_id[0] = 1; }},
        Rule{"HostData", [](TestWorld* w) { w->snp().add_host_data(std::string(62, '0') + "FF"); },
             "SNP_HOST_DATA", [](TestWorld* w) { w->report.host_data[31] = 0xFF; }},
        Rule{"IdKey",
             [](TestWorld* w) { w->snp().add_id_key_digests("02" + std::string(94, '0')); },
             "SNP_ID_KEY", [](TestWorld* w) { w->report.id_key_digest[0] = 2; }},
        Rule{"AuthorKey",
             [](TestWorld* w) { w->snp().add_author_key_digests("02" + std::string(94, '0')); },
             "SNP_AUTHOR_KEY",
             [](TestWorld* w) {
               w->report.author_key_enabled = true;
               w->report.author_key_digest[0] = 2;
             }},
        Rule{"AuthorKeyWithoutItsBit", [](TestWorld* w) { w->report.author_key_digest[0] = 2; },
             "SNP_AUTHOR_KEY_FORM", [](TestWorld* w) { w->report.author_key_enabled = true; }},
        Rule{"UnlistedMachine",
             [](TestWorld* w) { w->snp().set_chip_ids(0, std::string(128, '1')); }, "SNP_PLATFORM",
             [](TestWorld* w) {
               w->snp().clear_chip_ids();
               w->snp().set_any_platform(true);
             }},
        Rule{"UnlistedProduct", [](TestWorld* w) { w->snp().add_products(v1::TURIN); },
             "SNP_PRODUCT_LIST", [](TestWorld* w) { w->snp().add_products(v1::MILAN); }}),
    [](const auto& info) { return info.param.name; });

sev_snp::Tcb With(TestWorld* w, uint8_t sev_snp::Tcb::*component, int difference) {
  sev_snp::Tcb tcb = w->leaf_spec.tcb;
  tcb.*component = static_cast<uint8_t>(tcb.*component + difference);
  return tcb;
}

// Reports and certifies another TCB throughout.
void MoveTcb(TestWorld* w, uint8_t sev_snp::Tcb::*component, int difference) {
  w->leaf_spec.tcb = With(w, component, difference);
  w->SetTcb(w->leaf_spec.tcb);
}

void AnyTcb(TestWorld* w) {
  w->snp().clear_tcb_floors();
  w->snp().set_any_tcb(true);
}

INSTANTIATE_TEST_SUITE_P(
    Tcb, SnpRule,
    testing::Values(
        Rule{"NoFloorForTheProduct",
             [](TestWorld* w) { w->snp().mutable_tcb_floors(0)->set_product(v1::GENOA); },
             "SNP_TCB_FLOOR", AnyTcb},
        Rule{"MicrocodeBelowFloor", [](TestWorld* w) { MoveTcb(w, &sev_snp::Tcb::microcode, -1); },
             "SNP_TCB_FLOOR", AnyTcb},
        // As one number this TCB is above the floor: microcode is its highest byte.
        Rule{"SnpBelowFloorUnderNewerMicrocode",
             [](TestWorld* w) {
               MoveTcb(w, &sev_snp::Tcb::microcode, 1);
               MoveTcb(w, &sev_snp::Tcb::snp, -1);
             },
             "SNP_TCB_FLOOR", AnyTcb},
        Rule{"BootLoaderBelowFloor",
             [](TestWorld* w) { MoveTcb(w, &sev_snp::Tcb::boot_loader, -1); }, "SNP_TCB_FLOOR",
             AnyTcb},
        Rule{"TeeBelowFloor", [](TestWorld* w) { MoveTcb(w, &sev_snp::Tcb::tee, -1); },
             "SNP_TCB_FLOOR", AnyTcb},
        Rule{"LaunchBelowFloor",
             [](TestWorld* w) { w->report.launch_tcb = w->Raw(With(w, &sev_snp::Tcb::snp, -1)); },
             "SNP_TCB_LAUNCH_FLOOR", AnyTcb},
        Rule{"CertificateOfANewerTcb", [](TestWorld* w) { w->leaf_spec.tcb.microcode += 1; },
             "SNP_TCB_CERTIFICATE", nullptr},
        Rule{"CertificateOfAnOlderTcb", [](TestWorld* w) { w->leaf_spec.tcb.snp -= 1; },
             "SNP_TCB_CERTIFICATE", nullptr},
        Rule{
            "ReportedAboveCommitted",
            [](TestWorld* w) { w->report.committed_tcb = w->Raw(With(w, &sev_snp::Tcb::snp, -1)); },
            "SNP_TCB_COMMITTED", nullptr},
        Rule{"CommittedAboveCurrent",
             [](TestWorld* w) {
               w->report.committed_tcb = w->Raw(With(w, &sev_snp::Tcb::snp, 1));
               w->report.launch_tcb = w->report.current_tcb;
             },
             "SNP_TCB_CURRENT", nullptr},
        Rule{"LaunchAboveCurrent",
             [](TestWorld* w) {
               w->report.launch_tcb = w->Raw(With(w, &sev_snp::Tcb::microcode, 1));
             },
             "SNP_TCB_LAUNCH", nullptr},
        Rule{"Uncommitted",
             [](TestWorld* w) { w->report.current_tcb = w->Raw(With(w, &sev_snp::Tcb::snp, 1)); },
             "SNP_PROVISIONAL",
             [](TestWorld* w) { w->snp().set_allow_provisional_firmware(true); }},
        Rule{"FirmwareFellBehindCommitted",
             [](TestWorld* w) {
               w->report.current.build = 1;
               w->snp().set_allow_provisional_firmware(true);
             },
             "SNP_FIRMWARE", nullptr},
        Rule{"OldFirmware",
             [](TestWorld* w) {
               w->snp().mutable_min_firmware()->set_major(1);
               w->snp().mutable_min_firmware()->set_minor(55);
               w->snp().mutable_min_firmware()->set_build(30);
             },
             "SNP_FIRMWARE", [](TestWorld* w) { w->snp().mutable_min_firmware()->set_build(29); }},
        Rule{"NoMitigationsBeforeVersion5",
             [](TestWorld* w) { w->snp().set_required_launch_mitigations(1); }, "SNP_MITIGATIONS",
             [](TestWorld* w) {
               w->report.version = 5;
               w->report.launch_mitigations = 3;
             }}),
    [](const auto& info) { return info.param.name; });

// Turin's bytes read in Milan's layout would swap components.
TEST(TurinTcb, IsComparedInItsOwnLayout) {
  for (auto component : {&sev_snp::Tcb::fmc, &sev_snp::Tcb::boot_loader, &sev_snp::Tcb::tee,
                         &sev_snp::Tcb::snp, &sev_snp::Tcb::microcode}) {
    TestWorld world(v1::TURIN);
    MoveTcb(&world, component, -1);
    world.ExpectRefusedBy("SNP_TCB_FLOOR");
    TestWorld newer(v1::TURIN);
    MoveTcb(&newer, component, 1);
    newer.ExpectAccepted();
    TestWorld certificate(v1::TURIN);
    certificate.leaf_spec.tcb.*component += 1;
    certificate.ExpectRefusedBy("SNP_TCB_CERTIFICATE");
  }
}

TEST(SnpShortfall, NamesComponentAndDistance) {
  TestWorld world;
  MoveTcb(&world, &sev_snp::Tcb::microcode, 0x73 - 0xD1);
  const Appraisal appraisal = world.Appraise();
  EXPECT_EQ(appraisal.ToStatus(),
            base::Refusal(absl::StatusCode::kPermissionDenied, "SNP_TCB_FLOOR",
                          "microcode SVN 0x73, policy wants >= 0xd1"));
}

INSTANTIATE_TEST_SUITE_P(
    PlatformInfo, SnpRule,
    testing::Values(Rule{"AliasCheckIncomplete", [](TestWorld* w) { w->report.platform_info = 0; },
                         "SNP_ALIAS_CHECK",
                         [](TestWorld* w) { w->snp().set_allow_incomplete_alias_check(true); }},
                    Rule{"RequiredBitClear",
                         [](TestWorld* w) { w->snp().add_required_platform_info(v1::ECC_EN); },
                         "SNP_PLATFORM_INFO",
                         [](TestWorld* w) { w->report.platform_info |= 1u << 2; }},
                    Rule{"ForbiddenBitSet",
                         [](TestWorld* w) {
                           w->snp().add_forbidden_platform_info(v1::SMT_EN);
                           w->report.platform_info |= 1;
                         },
                         "SNP_PLATFORM_INFO",
                         [](TestWorld* w) { w->report.platform_info &= ~uint64_t{1}; }}),
    [](const auto& info) { return info.param.name; });

// The bytes after the signature, and r and s.
INSTANTIATE_TEST_SUITE_P(
    Parsing, SnpRule,
    testing::Values(
        Rule{"TrailerNotZero",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) { bytes->back() = 1; };
             },
             "SNP_TRAILER", nullptr},
        Rule{"OneByteMore",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) { bytes->push_back('\0'); };
             },
             "SNP_REPORT_FORM", nullptr},
        Rule{"OneByteLess",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) { bytes->pop_back(); };
             },
             "SNP_REPORT_FORM", nullptr},
        Rule{"Version1", [](TestWorld* w) { w->report.version = 1; }, "SNP_REPORT_FORM", nullptr},
        Rule{"AnotherAlgorithm", [](TestWorld* w) { w->report.signature_algorithm = 2; },
             "SNP_SIGNATURE_ALGORITHM", nullptr},
        Rule{"BigEndianSignature",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) {
                 for (size_t at : {0x2A0, 0x2E8}) {
                   std::reverse(bytes->begin() + at, bytes->begin() + at + 48);
                 }
               };
             },
             "SNP_SIGNATURE", nullptr},
        Rule{"ZeroSignature",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) {
                 std::fill(bytes->begin() + 0x2A0, bytes->begin() + 0x330, '\0');
               };
             },
             "SNP_SIGNATURE", nullptr},
        Rule{"ScalarAboveTheOrder",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) {
                 std::fill(bytes->begin() + 0x2A0, bytes->begin() + 0x2A0 + 48, '\xFF');
               };
             },
             "SNP_SIGNATURE", nullptr},
        Rule{"BytesAboveTheScalar",
             [](TestWorld* w) {
               w->edit_signed_report = [](std::string* bytes) { (*bytes)[0x2A0 + 71] = 1; };
             },
             "SNP_SIGNATURE", nullptr},
        Rule{"AnotherKeysSignature", [](TestWorld* w) { w->report_key = w->ask_key.get(); },
             "SNP_SIGNATURE", nullptr}),
    [](const auto& info) { return info.param.name; });

// Unknown bits warn and are part of what is signed; they refuse nothing.
TEST(UnknownBits, WarnAndDoNotRefuse) {
  const struct {
    size_t at;
    const char* check;
  } places[] = {{0x0B, "SNP_POLICY_UNKNOWN"},  {0x47, "SNP_PLATFORM_UNKNOWN"},
                {0x4C, "SNP_REPORT_UNKNOWN"},  {0x195, "SNP_REPORT_UNKNOWN"},
                {0x29F, "SNP_REPORT_UNKNOWN"}, {0x1F2, "SNP_TCB_RESERVED"},
                {0x1EB, "SNP_REPORT_UNKNOWN"}};
  for (const auto& place : places) {
    TestWorld world;
    world.edit_unsigned_report = [&](std::string* bytes) { (*bytes)[place.at] |= '\x40'; };
    const Appraisal appraisal = world.Appraise();
    EXPECT_TRUE(appraisal.accepted()) << place.at << TestWorld::Explain(appraisal);
    EXPECT_EQ(TestWorld::OutcomeOf(appraisal, place.check), "warned") << place.at;
  }
}

TEST(UnknownVersion, IsReadWithAWarning) {
  TestWorld world;
  world.report.version = 9;
  const Appraisal appraisal = world.Appraise();
  EXPECT_TRUE(appraisal.accepted()) << TestWorld::Explain(appraisal);
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "SNP_REPORT_UNKNOWN"), "warned");
}

TEST(KnownVersions, AllPass) {
  for (uint32_t version : {2, 3, 4, 5}) {
    TestWorld world;
    world.report.version = version;
    if (version == 2) world.report.cpuid_family = world.report.cpuid_model = 0;
    world.ExpectAccepted();
  }
}

TEST(SnpPolicy, WithoutSnpRulesRefuses) {
  TestWorld world;
  world.edit_certificates = [&](std::vector<std::string>*) { world.policy.clear_snp(); };
  world.ExpectRefusedBy("SNP_POLICY");
}

TEST(SnpPolicy, ThatIsEmptyRefusesAsInvalid) {
  TestWorld world;
  world.edit_certificates = [&](std::vector<std::string>*) { world.policy = Policy(); };
  world.ExpectRefusedBy("POLICY_INVALID");
}

}  // namespace
}  // namespace caravan::attestation
