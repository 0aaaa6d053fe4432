// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about Intel's chains, revocation, collateral and time, each tried on a world
// that passes otherwise.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/intel/test_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation::intel {
namespace {

class IntelWorld : public testing::TestWithParam<WorldKind> {};
std::string KindName(const testing::TestParamInfo<WorldKind>& info) {
  constexpr const char* kNames[] = {"Td10", "Td10InV5", "Td15", "Td15Extended",
                                    "Sgx3", "Sgx4",     "Sgx5"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, IntelWorld,
                         testing::Values(WorldKind::kTd10, WorldKind::kTd10InV5, WorldKind::kTd15,
                                         WorldKind::kTd15Extended, WorldKind::kSgx3,
                                         WorldKind::kSgx4, WorldKind::kSgx5),
                         KindName);

TEST_P(IntelWorld, PassesAsItIs) { TestWorld(GetParam()).ExpectAccepted(); }

// Freshness, all 64 bytes of it.
TEST_P(IntelWorld, RefusesReportDataThatDiffersInAnyByte) {
  for (size_t at : {0, 31, 32, 63}) {
    TestWorld world(GetParam());
    world.expected.bytes[at] ^= 1;
    world.ExpectRefusedBy("REPORT_DATA");
  }
}

TEST_P(IntelWorld, RefusesAnotherKeysSignature) {
  TestWorld world(GetParam());
  world.quote.attestation_key = world.signer_key.get();
  world.quote.bind_attestation_key = false;
  world.ExpectRefusedBy("QE_REPORT_DATA");
}

// The trust in Intel's word about a platform rests on this: a sampled flip in all signed bytes.
TEST_P(IntelWorld, RefusesAFlippedBitInAnySignedByte) {
  for (size_t at = 0; at < 48 + TestWorld(GetParam()).body.size(); at += 37) {
    TestWorld world(GetParam());
    world.edit_quote = [at](std::string* bytes) {
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 0x08);
    };
    EXPECT_EQ(world.Appraise().verdict, Verdict::kContraindicated) << at;
  }
}

TEST(IntelChain, RefusesAnInsecureRootThatPolicyDoesNotAllow) {
  TestWorld world;
  world.pin_root = false;
  world.policy.set_allow_insecure(false);
  world.ExpectRefusedBy("ROOT_INSECURE");
}

// The genuine name, another key.
TEST(IntelChain, RefusesAForeignRootUnderTheGenuineName) {
  TestWorld world;
  for (auto* spec : {&world.root, &world.ca, &world.pck, &world.signer}) {
    spec->common_name.erase(0, 9);
    spec->issuer_name.erase(0, 9);
  }
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  world.ExpectRefusedBy("ROOT");
}

// A second certificate of the pinned key.
TEST(IntelChain, AcceptsASecondCertificateOfThePinnedKey) {
  TestWorld world;
  world.ExpectAccepted();
  world.root.serial = 77;
  world.root.not_after += absl::Hours(1);
  world.ExpectAccepted();
}

TEST(IntelChain, RefusesLinksThatTheIssuerDidNotSign) {
  TestWorld intermediate;
  intermediate.ca.issuer_key = intermediate.signer_key.get();
  intermediate.ExpectRefusedBy("CHAIN");
  TestWorld leaf;
  leaf.pck.issuer_key = leaf.signer_key.get();
  leaf.ExpectRefusedBy("CHAIN");
}

TEST(IntelChain, RefusesOtherHashesAndCurves) {
  TestWorld hash;
  hash.ca.digest = EVP_sha384();
  hash.ExpectRefusedBy("CHAIN");
  TestWorld curve;
  const EvpPkeyPtr key = *insecure_software::MakeP384Key();
  curve.ca.subject_key = key.get();
  curve.pck.issuer_key = key.get();
  curve.ExpectRefusedBy("CHAIN");
}

// Roles. Nobody but the TCB signer speaks for Intel; no CA is an end entity.
TEST(IntelChain, RefusesCollateralThatThePckSigned) {
  TestWorld world;
  world.document_key = world.pck_key.get();
  world.ExpectRefusedBy("TCB_INFO_SIGNATURE");
}

TEST(IntelChain, TakesNoOtherCertificateOfTheRootForTheSigner) {
  TestWorld world;
  world.signer.common_name = "insecure Intel SGX PCK Certificate";
  world.ExpectRefusedBy("TCB_INFO_SIGNATURE", Verdict::kNone);
  TestWorld by_ca;
  by_ca.signer.issuer_name = by_ca.ca.common_name;
  by_ca.signer.issuer_key = by_ca.ca_key.get();
  by_ca.ExpectRefusedBy("TCB_INFO_SIGNATURE", Verdict::kNone);
  TestWorld is_ca;
  is_ca.signer.is_ca = true;
  is_ca.ExpectRefusedBy("TCB_INFO_SIGNATURE", Verdict::kNone);
}

TEST(IntelChain, RefusesCasThatAreNoneAndLeavesThatAre) {
  TestWorld no_ca;
  no_ca.ca.is_ca = false;
  no_ca.ExpectRefusedBy("CHAIN_CONSTRAINTS");
  TestWorld leaf_ca;
  leaf_ca.pck.is_ca = true;
  leaf_ca.ExpectRefusedBy("CHAIN_CONSTRAINTS");
  TestWorld path;
  path.root.path_length = 0;
  path.ExpectRefusedBy("CHAIN_CONSTRAINTS");
  TestWorld critical;
  critical.pck.critical_oid = "1.3.6.1.4.1.99999.1";
  critical.ExpectRefusedBy("CHAIN_CONSTRAINTS");
}

TEST(IntelChain, RefusesNamesOutOfTheirRole) {
  TestWorld leaf;
  leaf.pck.common_name = "insecure Intel SGX TCB Signing";
  leaf.ExpectRefusedBy("CHAIN_ROLE");
  TestWorld ca;
  ca.ca.common_name = ca.pck.issuer_name = ca.pck_crl.issuer_name = "insecure Intel SGX Some CA";
  ca.ExpectRefusedBy("CHAIN_ROLE");
}

// Processor CA for platform CA and the reverse.
TEST(IntelChain, TellsProcessorCaFromPlatformCa) {
  const std::string processor = "insecure Intel SGX PCK Processor CA";
  TestWorld world;
  world.ca.common_name = world.pck.issuer_name = world.pck_crl.issuer_name = processor;
  world.ExpectRefusedBy("CHAIN_ROLE");
  world.pck_spec.platform_instance_id.reset();
  world.ExpectAccepted();
  TestWorld platform;
  platform.pck_spec.platform_instance_id.reset();
  platform.ExpectRefusedBy("CHAIN_ROLE");
  TestWorld other_list;
  other_list.pck_crl.issuer_name = processor;
  other_list.ExpectRefusedBy("PCK_CRL", Verdict::kNone);
}

// Certificates that the peer sends are no trust anchors.
TEST(IntelChain, RefusesAChainWhoseEveryCertificateThePeerMade) {
  TestWorld honest, peer;
  ASSERT_TRUE(honest.Appraise().accepted());
  peer.pin_root = false;
  peer.policy.clear_insecure_root_spki_sha256();
  peer.policy.add_insecure_root_spki_sha256(honest.policy.insecure_root_spki_sha256(0));
  peer.ExpectRefusedBy("ROOT_INSECURE");
}

TEST(IntelChain, CannotVerifyWithoutEachCertificate) {
  const char* const checks[] = {"CERTIFICATE", "CHAIN", "CHAIN"};
  for (size_t i = 0; i < 3; ++i) {
    TestWorld world;
    world.edit_chain = [i](std::vector<std::string>* chain) {
      chain->erase(chain->begin() + static_cast<std::ptrdiff_t>(i));
    };
    world.ExpectRefusedBy(checks[i], Verdict::kNone);
  }
}

TEST(IntelChain, RefusesAFlippedBitInAnyCertificateOrList) {
  const auto flip = [](std::string* der, size_t at) {
    (*der)[at % der->size()] ^= static_cast<char>(1 << (at % 8));
  };
  for (size_t at = 0; at < 700; at += 29) {
    for (size_t i = 0; i < 3; ++i) {
      TestWorld changed;
      changed.edit_chain = [=](std::vector<std::string>* chain) { flip(&(*chain)[i], at); };
      EXPECT_FALSE(changed.Appraise().accepted()) << "certificate " << i << " byte " << at;
    }
    for (size_t i = 0; i < 2; ++i) {
      TestWorld changed;
      changed.edit_endorsements = [=](Endorsements* with) { flip(&with->crls[i], at); };
      EXPECT_FALSE(changed.Appraise().accepted()) << "list " << i << " byte " << at;
    }
    TestWorld changed;
    changed.edit_endorsements = [=](Endorsements* with) { flip(&with->certificates[0], at); };
    EXPECT_FALSE(changed.Appraise().accepted()) << "signer, byte " << at;
  }
}

// An appraiser that knows a chain's signatures checks those of every other.
TEST(IntelChain, RefusesAPckThatDiffersFromTheOneItAcceptedBefore) {
  TestWorld world;
  auto [evidence, endorsements] = world.Assemble();
  const auto appraiser = MakeAppraiser(world.policy, endorsements);
  ASSERT_TRUE(appraiser.ok()) << appraiser.status();
  ASSERT_TRUE((*appraiser)->Appraise(evidence, world.expected, world.now).accepted());
  std::string& quote = evidence.items[0].report;
  // A character of base64 in the signature.
  char& changed = quote[quote.find("\n-----END") - 12];
  changed = changed == 'A' ? 'B' : 'A';
  const Appraisal appraisal = (*appraiser)->Appraise(evidence, world.expected, world.now);
  ASSERT_FALSE(appraisal.accepted());
  EXPECT_EQ(appraisal.Decisive()->id, "TDX_CHAIN");
}

TEST(IntelChain, TakesTheCertificatesFromTheEndorsementsToo) {
  TestWorld world;
  std::vector<std::string> moved;
  world.edit_chain = [&](std::vector<std::string>* chain) { moved.swap(*chain); };
  world.edit_endorsements = [&](Endorsements* endorsements) {
    for (const std::string& der : moved) endorsements->certificates.push_back(der);
  };
  world.ExpectAccepted();
}

TEST(IntelChain, RefusesMalformedAndTooManyCertificates) {
  TestWorld many;
  many.edit_chain = [](std::vector<std::string>* chain) {
    chain->resize(kMaxCertificates + 1, chain->back());
  };
  many.ExpectRefusedBy("CERTIFICATE_FORM");
  TestWorld malformed;
  malformed.edit_chain = [](std::vector<std::string>* chain) { chain->front().push_back('\0'); };
  malformed.ExpectRefusedBy("CERTIFICATE_FORM");
}

// An absent list is "could not verify".
TEST(IntelRevocation, CannotVerifyWithoutEitherList) {
  for (bool TestWorld::*list : {&TestWorld::with_root_crl, &TestWorld::with_pck_crl}) {
    TestWorld world;
    world.*list = false;
    world.ExpectRefusedBy(list == &TestWorld::with_root_crl ? "ROOT_CRL" : "PCK_CRL",
                          Verdict::kNone);
    world.platform().set_allow_missing_crl(true);
    world.ExpectAccepted();
  }
}

// Each certificate by the list of its issuer, TCB signing too.
TEST(IntelRevocation, RefusesEachRevokedCertificate) {
  TestWorld pck;
  pck.pck_crl.revoked = {3, 99};
  pck.ExpectRefusedBy("PCK_REVOKED");
  for (uint64_t serial : {2, 4}) {
    TestWorld world;
    world.root_crl.revoked = {serial};
    world.ExpectRefusedBy("ROOT_REVOKED");
  }
  TestWorld stale;
  stale.pck_crl.next_update = stale.now - absl::Hours(1);
  stale.pck_crl.this_update = stale.now - absl::Hours(2);
  stale.pck_crl.revoked = {3};
  stale.platform().set_allow_missing_crl(true);
  stale.ExpectRefusedBy("PCK_REVOKED");
}

// Stale, endless and future lists and documents.
TEST(IntelRevocation, CannotVerifyWithListsOutsideTheirTime) {
  TestWorld stale;
  stale.root_crl.next_update = stale.now - absl::Seconds(1);
  stale.ExpectRefusedBy("ROOT_CRL", Verdict::kNone);
  TestWorld future;
  future.pck_crl.this_update = future.now + absl::Seconds(1);
  future.ExpectRefusedBy("PCK_CRL", Verdict::kNone);
  TestWorld endless;
  endless.pck_crl.next_update.reset();
  endless.ExpectRefusedBy("PCK_CRL", Verdict::kNone);
}

TEST(IntelRevocation, RefusesListsThatTheIssuerDidNotSign) {
  TestWorld world;
  world.pck_crl.issuer_key = world.root_key.get();
  world.ExpectRefusedBy("PCK_CRL_SIGNATURE");
  TestWorld hash;
  hash.root_crl.digest = EVP_sha384();
  hash.ExpectRefusedBy("ROOT_CRL_SIGNATURE");
}

TEST(IntelTime, CannotVerifyWithDocumentsOutsideTheirTime) {
  TestWorld stale;
  stale.next_update = stale.now - absl::Seconds(1);
  stale.ExpectRefusedBy("TCB_INFO_TIME", Verdict::kNone);
  TestWorld future;
  future.issue_date = future.now + absl::Seconds(1);
  future.ExpectRefusedBy("TCB_INFO_TIME", Verdict::kNone);
  TestWorld last;
  last.next_update = last.now;
  last.ExpectAccepted();
}

// The caller's time, to the second, for every certificate.
TEST(IntelTime, RefusesEachCertificateOutsideItsValidity) {
  for (auto member : {&TestWorld::pck, &TestWorld::ca, &TestWorld::root}) {
    TestWorld expired;
    (expired.*member).not_after = expired.now - absl::Seconds(1);
    expired.ExpectRefusedBy("CHAIN_VALIDITY");
    TestWorld early;
    (early.*member).not_before = early.now + absl::Seconds(1);
    early.ExpectRefusedBy("CHAIN_VALIDITY");
  }
  TestWorld signer;
  signer.signer.not_after = signer.now - absl::Seconds(1);
  signer.ExpectRefusedBy("TCB_INFO_SIGNATURE", Verdict::kNone);
}

TEST(IntelCollateral, CannotVerifyWithoutEitherDocument) {
  const char* const checks[] = {"TCB_INFO", "QE_IDENTITY"};
  for (size_t i = 0; i < 2; ++i) {
    TestWorld world;
    world.edit_endorsements = [i](Endorsements* endorsements) {
      endorsements->documents.erase(endorsements->documents.begin() +
                                    static_cast<std::ptrdiff_t>(i));
    };
    world.ExpectRefusedBy(checks[i], Verdict::kNone);
  }
}

// CVE-2026-22696: both documents' signatures, over the bytes as they came.
TEST(IntelCollateral, RefusesChangedDocuments) {
  TestWorld info;
  info.edit_signed_tcb_info = [](std::string* text) {
    absl::StrReplaceAll({{"\"OutOfDate\"", "\"UpToDate\""}}, text);
  };
  info.ExpectRefusedBy("TCB_INFO_SIGNATURE");
  TestWorld space;
  space.edit_signed_tcb_info = [](std::string* text) {
    absl::StrReplaceAll({{"\"pceId\":", "\"pceId\": "}}, text);
  };
  space.ExpectRefusedBy("TCB_INFO_SIGNATURE");
  TestWorld identity;
  identity.edit_signed_identity = [](std::string* text) {
    absl::StrReplaceAll({{"\"isvsvn\":4", "\"isvsvn\":3"}}, text);
  };
  identity.ExpectRefusedBy("QE_IDENTITY_SIGNATURE");
  TestWorld around;
  around.edit_signed_tcb_info = [](std::string* text) { *text = absl::StrCat(" ", *text, "\n"); };
  around.ExpectAccepted();
}

// R and s of the signatures over both documents, zero and the order of P-256.
TEST(IntelCollateral, RefusesBadScalars) {
  const std::string order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
  for (const std::string& bad : {std::string(64, '0'), order}) {
    for (const size_t scalar : {0, 64}) {
      const auto spoil = [&](std::string* text) {
        text->replace(text->rfind('"') - 128 + scalar, 64, bad);
      };
      TestWorld info, identity;
      info.edit_signed_tcb_info = spoil;
      info.ExpectRefusedBy("TCB_INFO_SIGNATURE");
      identity.edit_signed_identity = spoil;
      identity.ExpectRefusedBy("QE_IDENTITY_SIGNATURE");
    }
  }
}

TEST(IntelCollateral, CannotVerifyWithMalformedDocuments) {
  const std::pair<const char*, const char*> changes[] = {
      {"\"UpToDate\"", "\"Fine\""},       {"\"pcesvn\":11", "\"pcesvn\":11,\"pcesvn\":1"},
      {"\"svn\":8", "\"svn\":264"},       {"\"version\":3", "\"version\":4"},
      {"\"tcbType\":0", "\"tcbType\":1"},
  };
  for (const auto& [from, to] : changes) {
    TestWorld world;
    world.edit_tcb_info = [from = from, to = to](std::string* text) {
      absl::StrReplaceAll({{from, to}}, text);
    };
    world.ExpectRefusedBy("TCB_INFO", Verdict::kNone);
  }
}

TEST(IntelCollateral, RefusesTcbInfoOfAnotherPlatform) {
  TestWorld fmspc;
  fmspc.fmspc = "00906ed50000";
  fmspc.ExpectRefusedBy("TCB_INFO");
  TestWorld pce;
  pce.pce_id = "0001";
  pce.ExpectRefusedBy("TCB_INFO");
  TestWorld kind(WorldKind::kSgx3);
  kind.identity_id = "TD_QE";
  kind.ExpectRefusedBy("QE_IDENTITY");
  TestWorld td;
  td.identity_id = "QE";
  td.ExpectRefusedBy("QE_IDENTITY");
}

// Older collateral that still holds.
TEST(IntelCollateral, RefusesEvaluationNumbersBelowTheFloor) {
  TestWorld world;
  world.evaluation_number = 17;
  world.ExpectRefusedBy("TCB_INFO_EVALUATION");
  world.platform().set_min_tcb_evaluation_number(0);
  world.platform().set_any_tcb_evaluation_number(true);
  world.ExpectAccepted();
}

// Each statement has to hold by itself: that of the platform does not vouch for the enclave's.
TEST(IntelCollateral, IsNoQeIdentityByTheTcbInfosMerits) {
  for (const WorldKind kind : {WorldKind::kTd10, WorldKind::kSgx3}) {
    TestWorld stale(kind);
    stale.qe_next_update = stale.now - absl::Seconds(1);
    stale.ExpectRefusedBy("QE_IDENTITY_TIME", Verdict::kNone);
    TestWorld future(kind);
    future.qe_issue_date = future.now + absl::Seconds(1);
    future.ExpectRefusedBy("QE_IDENTITY_TIME", Verdict::kNone);
    TestWorld old(kind);
    old.qe_evaluation_number = 17;
    old.ExpectRefusedBy("QE_IDENTITY_EVALUATION");
    TestWorld signer(kind);
    signer.identity_key = signer.pck_key.get();
    signer.ExpectRefusedBy("QE_IDENTITY_SIGNATURE");
  }
}

TEST(IntelCollateral, PrefersTheHighestEvaluationNumberThatHolds) {
  TestWorld old;
  old.evaluation_number = 17;
  std::string older;
  old.edit_signed_tcb_info = [&](std::string* text) { older = *text; };
  old.Appraise();
  TestWorld world;
  world.document_key = old.signer_key.get();
  world.signer.subject_key = old.signer_key.get();
  world.edit_endorsements = [&](Endorsements* endorsements) {
    endorsements->documents.insert(endorsements->documents.begin(), older);
  };
  world.ExpectAccepted();
}

}  // namespace
}  // namespace caravan::attestation::intel
