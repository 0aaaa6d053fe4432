// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about chains, roles, revocation and time, each tried on a chain that passes
// otherwise.
#include <string>

#include "attestation/sev_snp/test_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

TEST(Chain, PassesAsItIsOnEachProduct) {
  for (v1::SnpProduct product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    TestWorld world(product);
    world.ExpectAccepted();
  }
}

TEST(Chain, RefusesAnInsecureRootThatPolicyDoesNotAllow) {
  TestWorld world;
  world.pin_root = false;
  world.policy.set_allow_insecure(false);
  world.ExpectRefusedBy("SNP_ROOT_INSECURE");
}

TEST(Chain, RefusesAnInsecureRootThatPolicyDoesNotPin) {
  TestWorld world;
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  world.ExpectRefusedBy("SNP_ROOT_INSECURE");
}

// A self-signed root from the bundle, trusted by its name.
TEST(Chain, RefusesAForeignRootUnderTheGenuineName) {
  TestWorld world;
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  world.ark.common_name = world.ark.issuer_name = world.ask.issuer_name = "ARK-Milan";
  world.ask.common_name = world.leaf.issuer_name = "SEV-Milan";
  world.leaf.common_name = "SEV-VCEK";
  world.ExpectRefusedBy("SNP_ROOT");
}

// A pinned insecure root may not stand in for hardware by its names.
TEST(Chain, RefusesAPinnedRootWithoutInsecureInItsNames) {
  TestWorld world;
  world.ark.common_name = world.ark.issuer_name = world.ask.issuer_name = "ARK-Milan";
  world.crl.issuer_name = "ARK-Milan";
  world.ExpectRefusedBy("SNP_CHAIN_ROLE");
}

// Pinning certificate bytes refuses the second certificate of the same key.
TEST(Chain, AcceptsASecondCertificateOfThePinnedKey) {
  TestWorld world;
  world.ExpectAccepted();
  world.ark.serial = 77;
  world.ark.not_after += absl::Hours(1);
  world.ExpectAccepted();
}

TEST(Chain, RefusesAnotherKeyUnderThePinnedRootsName) {
  TestWorld world;
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.edit_certificates = [&](std::vector<std::string>* certificates) {
    insecure_software::CertificateSpec fake = world.ark;
    fake.subject_key = fake.issuer_key = other.get();
    certificates->back() = *insecure_software::MakeCertificate(fake);
  };
  world.ExpectRefusedBy("SNP_CHAIN");
}

// The intermediate's own signature.
TEST(Chain, RefusesAnIntermediateThatTheRootDidNotSign) {
  TestWorld world;
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.ask.issuer_key = other.get();
  world.ExpectRefusedBy("SNP_CHAIN");
}

TEST(Chain, RefusesALeafThatTheIntermediateDidNotSign) {
  TestWorld world;
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.leaf.issuer_key = other.get();
  world.ExpectRefusedBy("SNP_CHAIN");
}

// Products mixed along the chain.
TEST(Chain, RefusesAnIntermediateOfAnotherProduct) {
  TestWorld world;
  world.ask.common_name = world.leaf.issuer_name = "insecure SEV-Genoa";
  world.ExpectRefusedBy("SNP_CHAIN_ROLE");
}

TEST(Chain, RefusesACertificateOfAnotherProductThanTheCpu) {
  TestWorld world;
  world.report.cpuid_model = 0x11;
  world.ExpectRefusedBy("SNP_PRODUCT");
}

TEST(Chain, CannotVerifyACpuThatItDoesNotKnow) {
  TestWorld world;
  world.report.cpuid_family = 0x1B;
  world.ExpectRefusedBy("SNP_PRODUCT", Verdict::kNone);
}

TEST(Chain, RefusesAFlippedBitInAnyCertificate) {
  TestWorld world;
  world.ExpectAccepted();
  for (size_t i = 0; i < 3; ++i) {
    for (size_t at = i; at < 500; at += 23) {
      world.edit_certificates = [=](std::vector<std::string>* certificates) {
        std::string& der = (*certificates)[i];
        der[at % der.size()] ^= static_cast<char>(1 << (at % 8));
      };
      EXPECT_FALSE(world.Appraise().accepted()) << "certificate " << i << " byte " << at;
    }
  }
}

// VLEK for VCEK and the reverse.
TEST(Chain, AcceptsAVlekThatPolicyAllows) {
  for (v1::SnpProduct product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    TestWorld world(product);
    world.UseVlek();
    world.ExpectAccepted();
  }
}

TEST(Chain, RefusesAVlekByDefault) {
  TestWorld world;
  world.UseVlek();
  world.snp().set_allow_vlek(false);
  world.ExpectRefusedBy("SNP_VLEK");
}

TEST(Chain, RefusesAVlekWhereTheReportNamesAVcek) {
  TestWorld world;
  world.UseVlek();
  world.report.signing_key = 0;
  world.ExpectRefusedBy("SNP_SIGNING_KEY");
}

TEST(Chain, RefusesAVcekWhereTheReportNamesAVlek) {
  TestWorld world;
  world.report.signing_key = 1;
  world.ExpectRefusedBy("SNP_SIGNING_KEY");
}

TEST(Chain, RefusesAReportThatNamesNoKey) {
  TestWorld world;
  world.report.signing_key = 7;
  world.ExpectRefusedBy("SNP_SIGNING_KEY");
}

TEST(Chain, RefusesAVlekThatTheAskIssued) {
  TestWorld world;
  world.UseVlek();
  world.ask.common_name = world.leaf.issuer_name = "insecure SEV-Milan";
  world.ExpectRefusedBy("SNP_CHAIN_ROLE");
}

TEST(Chain, RefusesAVlekOfAProviderThatPolicyDoesNotList) {
  TestWorld world;
  world.UseVlek();
  world.snp().add_vlek_csp_ids("CN=another.example");
  world.ExpectRefusedBy("SNP_CSP");
}

// A VCEK without its HWID, and chip ids that are zero.
TEST(Chain, RefusesAVcekWithoutHwid) {
  TestWorld world;
  world.leaf_spec.hwid.clear();
  world.ExpectRefusedBy("SNP_CERTIFICATE");
}

TEST(Chain, RefusesALeafOfBothKinds) {
  TestWorld world;
  world.leaf_spec.csp_id = "CN=cloud.example";
  world.ExpectRefusedBy("SNP_CERTIFICATE");
}

TEST(Chain, RefusesAVcekOfAnotherChip) {
  TestWorld world;
  world.report.chip_id[63] ^= 1;
  world.ExpectRefusedBy("SNP_CHIP_ID");
}

TEST(Chain, RefusesAZeroChipIdUnderAVcek) {
  TestWorld world;
  world.report.chip_id = {};
  world.ExpectRefusedBy("SNP_CHIP_ID");
}

TEST(Chain, TakesTheChipFromTheCertificateWhereMaskingIsAllowed) {
  TestWorld world;
  world.report.chip_id = {};
  world.snp().set_allow_masked_chip_id(true);
  world.ExpectAccepted();
  world.snp().set_chip_ids(0, std::string(128, 'e'));
  world.ExpectRefusedBy("SNP_PLATFORM");
}

TEST(Chain, RefusesAReportUnderAMaskedChipKey) {
  TestWorld world;
  world.report.mask_chip_key = true;
  world.ExpectRefusedBy("SNP_MASK_CHIP_KEY");
}

TEST(Chain, RefusesBytesBehindTurinsShortChipId) {
  TestWorld world(v1::TURIN);
  world.report.chip_id[8] = 1;
  world.ExpectRefusedBy("SNP_CHIP_ID");
}

// HWID raw or wrapped, whatever its first byte.
TEST(Chain, TakesHwidRawAndWrappedWhateverItsFirstByte) {
  for (v1::SnpProduct product : {v1::MILAN, v1::TURIN}) {
    for (char first : {'\x02', '\x04', '\x30', '\x00'}) {
      for (bool wrap : {false, true}) {
        TestWorld world(product);
        world.leaf_spec.hwid[0] = first;
        world.leaf_spec.hwid[1] = '\x06';
        std::copy(world.leaf_spec.hwid.begin(), world.leaf_spec.hwid.end(),
                  world.report.chip_id.begin());
        world.leaf_spec.wrap_hwid = wrap;
        world.snp().clear_chip_ids();
        world.snp().set_any_platform(true);
        world.ExpectAccepted();
      }
    }
  }
}

TEST(Chain, RefusesAnExtensionThatStandsTwice) {
  TestWorld world;
  world.edit_extensions = [](insecure_software::ExtensionList* list) {
    list->push_back(list->back());
  };
  world.ExpectRefusedBy("SNP_CERTIFICATE");
}

TEST(Chain, RefusesALeafWithoutATcbComponent) {
  TestWorld world;
  world.edit_extensions = [](insecure_software::ExtensionList* list) {
    list->erase(list->begin() + 4);
  };
  world.ExpectRefusedBy("SNP_CERTIFICATE");
}

// The list revokes ASK, ASVK, VCEK and VLEK alike.
TEST(Chain, RefusesEachRevokedCertificateOfBothChains) {
  for (bool vlek : {false, true}) {
    for (uint64_t serial : {2, 3}) {
      TestWorld world;
      if (vlek) world.UseVlek();
      world.crl.revoked = {serial, 99};
      world.ExpectRefusedBy("SNP_REVOKED");
    }
  }
}

TEST(Chain, HonoursAListEvenWherePolicyDoesWithoutOne) {
  TestWorld world;
  world.snp().set_require_insecure_crl(false);
  world.crl.revoked = {2};
  world.ExpectRefusedBy("SNP_REVOKED");
}

TEST(Chain, HonoursAStaleListsRevocations) {
  TestWorld world;
  world.snp().set_require_insecure_crl(false);
  world.crl.next_update = world.now - absl::Minutes(1);
  world.crl.revoked = {3};
  world.ExpectRefusedBy("SNP_REVOKED");
}

// Roles. An end entity is no CA, and a CA no end entity.
TEST(Chain, RefusesAnIntermediateThatIsNoCa) {
  TestWorld world;
  world.ask.is_ca = false;
  world.ExpectRefusedBy("SNP_CHAIN_CONSTRAINTS");
}

TEST(Chain, RefusesALeafThatIsACa) {
  TestWorld world;
  world.leaf.is_ca = true;
  world.ExpectRefusedBy("SNP_CHAIN_CONSTRAINTS");
}

TEST(Chain, RefusesARootWhosePathLengthForbidsTheIntermediate) {
  TestWorld world;
  world.ark.path_length = 0;
  world.ExpectRefusedBy("SNP_CHAIN_CONSTRAINTS");
}

TEST(Chain, RefusesAnUnknownCriticalExtension) {
  TestWorld world;
  world.leaf.critical_oid = "1.3.6.1.4.1.99999.1";
  world.ExpectRefusedBy("SNP_CHAIN_CONSTRAINTS");
}

TEST(Chain, RefusesASignatureOverSha256) {
  TestWorld world;
  world.ask.digest = EVP_sha256();
  world.ExpectRefusedBy("SNP_CHAIN");
}

// What the peer sends is no trust anchor.
TEST(Chain, RefusesAChainWhoseEveryCertificateThePeerMade) {
  TestWorld honest, peer;
  peer.pin_root = false;
  const Appraisal good = honest.Appraise();
  ASSERT_TRUE(good.accepted()) << TestWorld::Explain(good);
  peer.policy.clear_insecure_root_spki_sha256();
  peer.policy.add_insecure_root_spki_sha256(honest.policy.insecure_root_spki_sha256(0));
  peer.ExpectRefusedBy("SNP_ROOT_INSECURE");
}

TEST(Chain, RefusesAFlippedBitInTheRevocationList) {
  TestWorld world;
  const std::string good = *insecure_software::MakeCrl(world.crl);
  for (size_t at = 0; at < good.size(); at += 7) {
    world.edit_crl = [at](std::string* der) {
      (*der)[at % der->size()] ^= static_cast<char>(1 << (at % 8));
    };
    EXPECT_FALSE(world.Appraise().accepted()) << "byte " << at;
  }
}

// An absent list is "could not verify", never a pass.
TEST(Chain, CannotVerifyWithoutARevocationList) {
  TestWorld world;
  world.with_crl = false;
  world.ExpectRefusedBy("SNP_CRL", Verdict::kNone);
  world.snp().set_require_insecure_crl(false);
  world.ExpectAccepted();
}

// Stale lists, and lists from the future.
TEST(Chain, CannotVerifyWithAStaleRevocationList) {
  TestWorld world;
  world.crl.next_update = world.now - absl::Seconds(1);
  world.ExpectRefusedBy("SNP_CRL", Verdict::kNone);
}

TEST(Chain, CannotVerifyWithARevocationListFromTheFuture) {
  TestWorld world;
  world.crl.this_update = world.now + absl::Seconds(1);
  world.ExpectRefusedBy("SNP_CRL", Verdict::kNone);
}

TEST(Chain, CannotVerifyWithAListThatNeverEnds) {
  TestWorld world;
  world.crl.next_update.reset();
  world.ExpectRefusedBy("SNP_CRL", Verdict::kNone);
}

TEST(Chain, RefusesAListThatTheRootDidNotSign) {
  TestWorld world;
  world.crl.issuer_key = world.ask_key.get();
  world.ExpectRefusedBy("SNP_CRL_SIGNATURE");
}

TEST(Chain, IgnoresTheListOfAnotherRoot) {
  TestWorld world;
  world.crl.issuer_name = "insecure ARK-Genoa";
  world.ExpectRefusedBy("SNP_CRL", Verdict::kNone);
}

// The caller's time decides, to the second, for every certificate.
TEST(Chain, RefusesEachCertificateOutsideItsValidity) {
  for (auto member : {&TestWorld::leaf, &TestWorld::ask, &TestWorld::ark}) {
    TestWorld expired;
    (expired.*member).not_after = expired.now - absl::Seconds(1);
    expired.ExpectRefusedBy("SNP_CHAIN_VALIDITY");
    TestWorld early;
    (early.*member).not_before = early.now + absl::Seconds(1);
    early.ExpectRefusedBy("SNP_CHAIN_VALIDITY");
    TestWorld last;
    (last.*member).not_after = last.now;
    last.ExpectAccepted();
  }
}

TEST(Chain, CannotVerifyWithoutEachCertificate) {
  const char* const checks[] = {"SNP_CERTIFICATE", "SNP_CHAIN", "SNP_CHAIN"};
  for (size_t i = 0; i < 3; ++i) {
    TestWorld world;
    world.edit_certificates = [i](std::vector<std::string>* certificates) {
      certificates->erase(certificates->begin() + static_cast<ptrdiff_t>(i));
    };
    world.ExpectRefusedBy(checks[i], Verdict::kNone);
  }
}

TEST(Chain, RefusesBytesAfterACertificate) {
  TestWorld world;
  world.edit_certificates = [](std::vector<std::string>* certificates) {
    certificates->front().push_back('\0');
  };
  world.ExpectRefusedBy("SNP_CERTIFICATE_FORM");
}

TEST(Chain, RefusesMoreCertificatesThanAChainNeeds) {
  TestWorld world;
  world.edit_certificates = [](std::vector<std::string>* certificates) {
    certificates->resize(kMaxCertificates + 1, certificates->back());
  };
  world.ExpectRefusedBy("SNP_CERTIFICATE_FORM");
}

}  // namespace
}  // namespace caravan::attestation
