// SPDX-License-Identifier: Apache-2.0
//
// Each classic mistake about vTPM evidence, tried in a world that passes.
#include <string>

#include "attestation/tpm/quote.h"
#include "attestation/tpm/test_world.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation::tpm {
namespace {

struct Machine {
  const char* name;
  HardwareType type;
  intel::WorldKind kind = intel::WorldKind::kTd10;
};

class Vtpm : public testing::TestWithParam<Machine> {
 protected:
  VtpmWorld world{GetParam().type, GetParam().kind};
  std::string Inner(const char* id) const {
    return (GetParam().type == HardwareType::kSnp ? "SNP_" : "TDX_") + std::string(id);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Machines, Vtpm,
    testing::Values(Machine{"Snp", HardwareType::kSnp}, Machine{"Td10", HardwareType::kTdx},
                    Machine{"Td15", HardwareType::kTdx, intel::WorldKind::kTd15}),
    [](const auto& info) { return info.param.name; });

TEST_P(Vtpm, PassesAsItIs) {
  world.ExpectAccepted();
  const Appraisal appraisal = world.Appraise();
  EXPECT_EQ(appraisal.platform.find("vtpm on insecure"), 0u) << appraisal.platform;
  EXPECT_EQ(appraisal.claims.at("pcr_measurement_name"), "the image");
  EXPECT_EQ(appraisal.claims.at("pcr07"), base::ToHex(world.pcrs[7]));
}

// Mistake 6: the report is as old as the last boot, and whoever holds it can show it to anyone.
TEST_P(Vtpm, RefusesACachedReportWithAnOldQuote) {
  world.with_nonce = false;
  world.quote.extra_data.assign(32, 'o');
  world.ExpectRefusedBy("VTPM_NONCE");
}

// What the paravisor puts into its claims, user data included, is no nonce.
TEST_P(Vtpm, TakesNoFreshnessFromTheClaims) {
  const size_t at = world.claims.find("\"user-data\":\"00\"");
  world.claims.replace(at, 16, "\"user-data\":\"" + base::ToHex(TpmNonce(world.expected)) + "\"");
  world.with_nonce = false;
  world.ExpectRefusedBy("VTPM_NONCE");
}

// Mistake 1: neither nothing, nor a prefix, nor the report data as they are.
TEST_P(Vtpm, ComparesTheWholeNonce) {
  const crypto::Sha256Digest nonce = TpmNonce(world.expected);
  const std::string whole(nonce.begin(), nonce.end());
  const std::string data(world.expected.bytes.begin(), world.expected.bytes.end());
  world.with_nonce = false;
  for (const std::string& extra : {std::string(), whole.substr(0, 31), whole + '\0', data}) {
    world.quote.extra_data = extra;
    world.ExpectRefusedBy("VTPM_NONCE");
  }
}

TEST_P(Vtpm, WarnsAtBestWhereNoNonceIsExpected) {
  const auto [item, endorsements] = world.Make();
  const Appraisal appraisal = VerifyStored({{item}}, endorsements, world.policy,
                                           ReportDataExpectation::NotChecked(), world.now);
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << intel::TestWorld::Explain(appraisal);
}

// Mistake 5: magic, type, and whose key it is.
TEST_P(Vtpm, RefusesAnotherMagic) {
  world.quote.magic = 0x00544347;
  world.ExpectRefusedBy("VTPM_QUOTE_FORM");
}
TEST_P(Vtpm, RefusesAnAttestationOfAnotherType) {
  world.quote.type = 0x8017;
  world.ExpectRefusedBy("VTPM_QUOTE_FORM");
}
TEST_P(Vtpm, RefusesAQuoteByAnotherKey) {
  const EvpPkeyPtr other = *insecure_software::MakeRsaKey();
  world.quote_key = other.get();
  world.ExpectRefusedBy("VTPM_SIGNATURE");
}
TEST_P(Vtpm, RefusesAKeyThatTheHardwareDoesNotVouchFor) {
  const EvpPkeyPtr other = *insecure_software::MakeRsaKey();
  const std::string forged = *insecure_software::MakeRuntimeClaims(other.get());
  world.quote_key = other.get();
  world.edit_hcl_report = [&](std::string* report) {
    report->replace(report->size() - 2600 + 0x20 + 1184 + 20, forged.size(), forged);
  };
  world.ExpectRefusedBy("VTPM_CLAIMS_BINDING");
}
TEST_P(Vtpm, RefusesClaimsThatNobodyHashed) {
  world.bind_claims = false;
  world.ExpectRefusedBy("VTPM_CLAIMS_BINDING");
}
TEST_P(Vtpm, RefusesClaimsWithoutAKey) {
  world.claims = "{\"keys\":[]}";
  world.ExpectRefusedBy("VTPM_CLAIMS");
}

// CVE-2022-0317: a quote over other registers, or over none.
TEST_P(Vtpm, RefusesAQuoteOverNoRegister) {
  world.quote.selections = {{kTpmSha256, std::string(3, '\0')}};
  world.ExpectRefusedBy("VTPM_PCR_SELECTION");
}
TEST_P(Vtpm, RefusesAQuoteOverFewerRegisters) {
  world.quote.selections = {{kTpmSha256, std::string("\xEF\xFF\xFF", 3)}};
  world.ExpectRefusedBy("VTPM_PCR_SELECTION");
}
TEST_P(Vtpm, RefusesAQuoteOverMoreRegisters) {
  world.pcrs.erase(23);
  world.ExpectRefusedBy("VTPM_PCR_SELECTION");
}
TEST_P(Vtpm, RefusesAQuoteOverAnotherBank) {
  world.quote.selections = {{0x0004, std::string(3, '\xFF')}};
  world.ExpectRefusedBy("VTPM_PCR_SELECTION");
}
TEST_P(Vtpm, RefusesValuesThatWereNotQuoted) {
  world.edit_evidence = [](VtpmEvidence* evidence) { evidence->pcrs[9][0] ^= 1; };
  world.ExpectRefusedBy("VTPM_PCR_DIGEST");
}
TEST_P(Vtpm, CannotVerifyAQuoteWithoutValues) {
  world.edit_evidence = [](VtpmEvidence* evidence) { evidence->pcrs.clear(); };
  world.ExpectRefusedBy("VTPM_PCR_SELECTION", Verdict::kNone);
}
TEST_P(Vtpm, RefusesAListedRegisterThatIsNotQuoted) {
  world.pcrs.erase(7);
  world.quote.selections = {{kTpmSha256, std::string("\x7F\xFF\xFF", 3)}};
  world.ExpectRefusedBy("VTPM_MEASUREMENT");
}

TEST_P(Vtpm, RefusesOtherRegistersUntilThePolicyAllows) {
  world.pcrs[4][31] ^= 1;
  world.ExpectRefusedBy("VTPM_MEASUREMENT");
  world.vtpm().clear_measurements();
  world.vtpm().set_any_measurement(true);
  world.ExpectAccepted();
}

TEST_P(Vtpm, RefusesMachinesWithoutSecureBootUntilThePolicyAllows) {
  world.claims = *insecure_software::MakeRuntimeClaims(world.ak.get(), false);
  world.ExpectRefusedBy("VTPM_SECURE_BOOT");
  world.vtpm().set_allow_secure_boot_off(true);
  world.ExpectAccepted();
}

TEST_P(Vtpm, TakesASignatureInTheTpmsOwnForm) {
  world.wrap_signature = true;
  world.ExpectAccepted();
}

TEST_P(Vtpm, ChecksThePublicAreaThatComesAlong) {
  world.vtpm().set_require_ak_public(true);
  world.ExpectRefusedBy("VTPM_AK_ATTRIBUTES", Verdict::kNone);
  world.with_ak_public = true;
  world.ExpectAccepted();
  // Whether or not the policy asks for it.
  world.vtpm().set_require_ak_public(false);
  for (uint32_t bit :
       {kFixedTpm, kFixedParent, kSensitiveDataOrigin, kRestricted, kSign, kDecrypt}) {
    world.ak_attributes = 0x00050072 ^ bit;
    world.ExpectRefusedBy("VTPM_AK_ATTRIBUTES");
  }
}
TEST_P(Vtpm, RefusesThePublicAreaOfAnotherKey) {
  const EvpPkeyPtr other = *insecure_software::MakeRsaKey();
  world.with_ak_public = true;
  world.edit_evidence = [&](VtpmEvidence* evidence) {
    evidence->ak_public = *insecure_software::MakePublicArea(other.get(), 0x00050072);
  };
  world.ExpectRefusedBy("VTPM_AK_ATTRIBUTES");
}
TEST_P(Vtpm, RefusesAQuoteThatNamesAnotherSigner) {
  world.with_ak_public = true;
  world.edit_quote = [](std::string* quote) { (*quote)[10] ^= 1; };
  world.ExpectRefusedBy("VTPM_AK_ATTRIBUTES");
}

// Mistake 7, through the HCL report.
TEST_P(Vtpm, RefusesDebuggableMachinesUntilThePolicyAllows) {
  if (world.snp()) {
    world.snp_world.report.policy |= uint64_t{1} << sev_snp::kDebug;
  } else {
    world.td_world.body[120] = 1;
  }
  world.ExpectRefusedBy(Inner("DEBUG"));
  if (world.snp()) {
    world.vtpm().mutable_snp()->set_allow_debug(true);
  } else {
    world.vtpm().mutable_tdx()->set_allow_debug(true);
  }
  world.ExpectAccepted();
}

// The rules for reports that a guest asks for itself are not those for the paravisor's.
TEST_P(Vtpm, IsRefusedWithoutRulesOfItsOwn) {
  *world.policy.mutable_snp() = world.snp_world.policy.snp();
  *world.policy.mutable_tdx() = intel::TestWorld().policy.tdx();
  if (world.snp()) {
    *world.vtpm().mutable_tdx() = world.policy.tdx();
    world.vtpm().clear_snp();
  } else {
    *world.vtpm().mutable_snp() = world.policy.snp();
    world.vtpm().clear_tdx();
  }
  world.ExpectRefusedBy(Inner("POLICY"));
  world.policy.clear_vtpm();
  world.ExpectRefusedBy("VTPM_POLICY");
}

// The report inside, shown as evidence of its own, passes for nothing that a session binds.
TEST_P(Vtpm, GivesNoEvidenceOfAnotherKind) {
  *world.policy.mutable_snp() = world.snp_world.policy.snp();
  *world.policy.mutable_tdx() = intel::TestWorld().policy.tdx();
  const auto [item, endorsements] = world.Make();
  const auto parts = DecodeVtpmEvidence(item.report);
  Evidence bare{EvidenceKind::kTdx, parts->td_quote, item.certificates};
  if (world.snp()) {
    bare.kind = EvidenceKind::kSevSnp;
    bare.report = ParseHclReport(parts->hcl_report)->hardware_report;
  }
  const Appraisal appraisal =
      Verify({{bare}}, endorsements, world.policy, world.expected, world.now);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, Inner("REPORT_DATA"));
}

TEST_P(Vtpm, RefusesBytesAfterTheReport) {
  world.edit_hcl_report = [](std::string* report) { report->back() = 1; };
  world.ExpectRefusedBy("VTPM_HCL_TRAILER");
}

// One flipped bit in any byte, sampled: it is signed, hashed, or has one value.
TEST_P(Vtpm, IsRefusedWithAnyByteFlipped) {
  world.with_ak_public = true;
  const auto [item, endorsements] = world.Make();
  ASSERT_TRUE(Verify({{item}}, endorsements, world.policy, world.expected, world.now).accepted());
  // Past the signed part of a quote come PEM certificates, whose line ends nobody signs.
  size_t pem = item.report.find("-----BEGIN");
  size_t pem_end = item.report.rfind("-----END CERTIFICATE-----");
  // CPUSVN and MAC of a TD report are for its machine to check.
  const size_t report_at = kContainerMagic.size() + 4 + kHclHeader;
  const auto unseen = [&](size_t at) {
    if (world.snp() || at < report_at) return false;
    const size_t in_report = at - report_at;
    return (in_report >= 16 && in_report < 32) || (in_report >= 224 && in_report < 256);
  };
  for (size_t at = 0; at < item.report.size(); at += 13) {
    if (unseen(at)) continue;
    if (pem != std::string::npos && at >= pem && at < pem_end + 40) continue;
    Evidence changed = item;
    changed.report[at] ^= static_cast<char>(1 << (at % 8));
    EXPECT_FALSE(
        Verify({{changed}}, endorsements, world.policy, world.expected, world.now).accepted())
        << at;
  }
}

TEST(VtpmOnTdx, RefusesAQuoteOfAnotherReport) {
  struct Field {
    const char* name;
    size_t at;
  };
  for (const Field& field : {Field{"TDATTRIBUTES", 512}, Field{"MRTD", 530}, Field{"RTMR3", 870},
                             Field{"MRSEAM", 285}, Field{"TEE_TCB_SVN", 264}}) {
    VtpmWorld world(HardwareType::kTdx);
    world.edit_td_report = [&](std::string* report) { (*report)[field.at] ^= 1; };
    const Appraisal appraisal = world.Appraise();
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated) << field.name;
    EXPECT_EQ(appraisal.Decisive()->id, "VTPM_TD_REPORT") << field.name;
  }
}

// Its hashes put right as well: then the fields themselves differ from the quote's.
TEST(VtpmOnTdx, ComparesEveryFieldWithTheQuote) {
  for (size_t at : {0, 16, 64, 112, 120, 128, 136, 184, 232, 280, 328, 376, 424, 472, 584, 600}) {
    VtpmWorld world(HardwareType::kTdx, intel::WorldKind::kTd15);
    world.edit_td_report = [&](std::string* report) {
      std::string body = world.td_world.body;
      body[at] ^= 2;
      *report = insecure_software::MakeTdReport(body);
    };
    world.ExpectRefusedBy("VTPM_TD_REPORT");
  }
}

TEST(VtpmOnTdx, CannotBeVerifiedWithoutAQuote) {
  VtpmWorld world(HardwareType::kTdx);
  world.edit_evidence = [](VtpmEvidence* evidence) { evidence->td_quote.clear(); };
  world.ExpectRefusedBy("VTPM_TD_QUOTE", Verdict::kNone);
}

TEST(VtpmOnSnp, RefusesATdQuoteBesideItsReport) {
  VtpmWorld world(HardwareType::kSnp);
  world.edit_evidence = [](VtpmEvidence* evidence) { evidence->td_quote = "quote"; };
  world.ExpectRefusedBy("VTPM_TD_QUOTE");
}

TEST(VtpmOnSnp, IsRecognisedByItsContainer) {
  VtpmWorld world(HardwareType::kSnp);
  const auto [item, endorsements] = world.Make();
  const auto set = DetectEvidence(item.report);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->items[0].kind, EvidenceKind::kVtpm);
  EXPECT_EQ(set->items[0].report, item.report);
}

}  // namespace
}  // namespace caravan::attestation::tpm
