// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about chains, classes, roles, time and revocation, each tried on a chain
// that passes otherwise.
#include <openssl/ec.h>

#include <string>
#include <utility>

#include "attestation/insecure_software/forge.h"
#include "attestation/nvidia/device_certificate.h"
#include "attestation/nvidia/test_world.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using insecure_software::CertificateSpec;

class NvidiaChain : public testing::TestWithParam<const char*> {};

TEST_P(NvidiaChain, PassesAsItIs) {
  TestWorld world(GetParam());
  world.ExpectAccepted();
  EXPECT_EQ(world.Appraise().platform, std::string("insecure nvidia 1 x ") + GetParam());
}

TEST_P(NvidiaChain, RefusesAnInsecureRootThatPolicyDoesNotAllow) {
  TestWorld world(GetParam());
  world.pin_root = false;
  world.policy.set_allow_insecure(false);
  world.ExpectRefusedBy("NVIDIA_ROOT_INSECURE");
}

TEST_P(NvidiaChain, RefusesAnInsecureRootThatPolicyDoesNotPin) {
  TestWorld world(GetParam());
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  world.ExpectRefusedBy("NVIDIA_ROOT_INSECURE");
}

void DropPrefix(TestWorld* world) {
  for (CertificateSpec& spec : world->device().chain) {
    for (std::string* name : {&spec.common_name, &spec.issuer_name}) name->erase(0, 9);
  }
}

// A self-signed root from the bundle, trusted by its name.
TEST_P(NvidiaChain, RefusesAForeignRootUnderTheGenuineName) {
  TestWorld world(GetParam());
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  DropPrefix(&world);
  world.ExpectRefusedBy("NVIDIA_ROOT");
}

// A pinned insecure root may not stand in for hardware by its names.
TEST_P(NvidiaChain, RefusesAPinnedRootWithoutInsecureInItsNames) {
  TestWorld world(GetParam());
  DropPrefix(&world);
  world.ExpectRefusedBy("NVIDIA_CHAIN_ROLE");
}

TEST_P(NvidiaChain, AcceptsASecondCertificateOfThePinnedKey) {
  TestWorld world(GetParam());
  world.ExpectAccepted();
  world.device().root().serial = 77;
  world.device().root().not_after += absl::Hours(1);
  world.ExpectAccepted();
}

TEST_P(NvidiaChain, RefusesAnotherKeyUnderThePinnedRootsName) {
  TestWorld world(GetParam());
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.device().edit_certificates = [&](auto* certificates) {
    CertificateSpec fake = world.device().root();
    fake.subject_key = fake.issuer_key = other.get();
    certificates->back() = *insecure_software::MakeCertificate(fake);
  };
  world.ExpectRefusedBy("NVIDIA_CHAIN");
}

// Each certificate's own signature.
TEST_P(NvidiaChain, RefusesACertificateThatItsIssuerDidNotSign) {
  for (size_t i = 0; i < 4; ++i) {
    TestWorld world(GetParam());
    const EvpPkeyPtr other = *insecure_software::MakeP384Key();
    world.device().chain[i].issuer_key = other.get();
    world.ExpectRefusedBy("NVIDIA_CHAIN");
  }
}

TEST_P(NvidiaChain, CannotVerifyWithoutEachOfItsCertificates) {
  for (size_t i = 0; i < 5; ++i) {
    TestWorld world(GetParam());
    world.device().edit_certificates = [i](auto* certificates) {
      certificates->erase(certificates->begin() + static_cast<std::ptrdiff_t>(i));
    };
    world.ExpectRefusedBy(i == 0 ? "NVIDIA_CERTIFICATE" : "NVIDIA_CHAIN", Verdict::kNone);
  }
}

TEST_P(NvidiaChain, RefusesACaAsTheLeaf) {
  TestWorld world(GetParam());
  world.device().leaf().is_ca = true;
  // A CA's key usage takes the place of a leaf's.
  std::erase_if(world.device().leaf().extensions,
                [](const auto& extension) { return extension.first == "2.5.29.15"; });
  world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
}

TEST_P(NvidiaChain, RefusesADeviceCaThatSignsReportsItself) {
  TestWorld world(GetParam());
  world.device().report_key = world.device().ca_key.get();
  world.device().edit_certificates = [](auto* certificates) {
    certificates->erase(certificates->begin());
  };
  world.ExpectRefusedBy("NVIDIA_CHAIN_ROLE");
}

TEST_P(NvidiaChain, RefusesALeafThatIssuesInItsCasPlace) {
  for (size_t i = 1; i < 5; ++i) {
    TestWorld world(GetParam());
    world.device().chain[i].is_ca = false;
    world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
  }
}

TEST_P(NvidiaChain, RefusesACaOnAnotherCurve) {
  TestWorld world(GetParam());
  const EvpPkeyPtr other(EVP_EC_gen("P-256"));
  world.device().provisioner().subject_key = world.device().device_ca().issuer_key = other.get();
  world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
}

TEST_P(NvidiaChain, RefusesAFlippedBitInAnyCertificate) {
  TestWorld world(GetParam());
  world.ExpectAccepted();
  for (size_t i = 0; i < 5; ++i) {
    for (size_t at = i; at < 500; at += 67) {
      world.device().edit_certificates = [=](auto* certificates) {
        std::string& der = (*certificates)[i];
        der[at % der.size()] ^= static_cast<char>(1 << (at % 8));
      };
      EXPECT_FALSE(world.Appraise().accepted()) << "certificate " << i << " byte " << at;
    }
  }
}

TEST_P(NvidiaChain, RefusesAPathThatIsTooLong) {
  TestWorld world(GetParam());
  world.device().identity().path_length = 1;
  world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
}

TEST_P(NvidiaChain, RefusesUnknownCriticalExtensions) {
  for (size_t i = 0; i < 5; ++i) {
    TestWorld world(GetParam());
    world.device().chain[i].critical_oid = "1.3.6.1.4.1.99999.1";
    world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
  }
}

TEST_P(NvidiaChain, RefusesALeafThatMayNotSign) {
  TestWorld world(GetParam());
  // keyAgreement alone.
  world.device().leaf().extensions[0].second = std::string("\x03\x02\x03\x08", 4);
  world.ExpectRefusedBy("NVIDIA_CHAIN_CONSTRAINTS");
}

TEST_P(NvidiaChain, RefusesCertificatesOutsideTheirTime) {
  for (size_t i = 0; i < 5; ++i) {
    TestWorld expired(GetParam());
    expired.device().chain[i].not_after = expired.now - absl::Seconds(1);
    expired.ExpectRefusedBy("NVIDIA_CHAIN_VALIDITY");
    TestWorld early(GetParam());
    early.device().chain[i].not_before = early.now + absl::Seconds(1);
    early.ExpectRefusedBy("NVIDIA_CHAIN_VALIDITY");
  }
}

TEST_P(NvidiaChain, RefusesAWeakerDigest) {
  TestWorld world(GetParam());
  world.device().provisioner().digest = EVP_sha256();
  world.ExpectRefusedBy("NVIDIA_CHAIN");
}

INSTANTIATE_TEST_SUITE_P(Chips, NvidiaChain, testing::Values("GH100", "GB100", "LS_10"));

// Chips mixed along the chain.
TEST(NvidiaRoles, RefuseAnIntermediateOfAnotherChip) {
  for (size_t i = 1; i < 4; ++i) {
    TestWorld world;
    std::string& name = world.device().chain[i].common_name;
    name.replace(name.find("GH100"), 5, "GB100");
    world.device().chain[i - 1].issuer_name = name;
    world.ExpectRefusedBy("NVIDIA_CHAIN_ROLE");
  }
}

TEST(NvidiaRoles, RefuseCertificatesInAnotherOrder) {
  TestWorld world;
  std::swap(world.device().provisioner().common_name, world.device().identity().common_name);
  world.device().device_ca().issuer_name = world.device().provisioner().common_name;
  world.device().provisioner().issuer_name = world.device().identity().common_name;
  world.ExpectRefusedBy("NVIDIA_CHAIN_ROLE");
}

// A switch's provisioner stands under Hopper's identity; a GPU's chain does not make a switch.
TEST(NvidiaRoles, RefuseASwitchWithAGpusProvisioner) {
  TestWorld world("LS_10");
  world.device().provisioner().common_name = "insecure NVIDIA GH100 Provisioner ICA 1";
  world.device().device_ca().issuer_name = world.device().provisioner().common_name;
  world.ExpectRefusedBy("NVIDIA_CHAIN_ROLE");
}

TEST(NvidiaRoles, CannotVerifyAChipThatIsNotKnown) {
  TestWorld world;
  world.device().leaf().common_name = "insecure GX900 A01 GSP FMC LF";
  world.ExpectRefusedBy("NVIDIA_CHIP", Verdict::kNone);
}

// One root and identity vouch for GPUs and for switches: only lower names tell them apart.
TEST(NvidiaClass, RefusesAGpusReportUnderASwitchsChain) {
  TestWorld world("LS_10");
  TestWorld gpu;
  world.device().report = gpu.device().report;
  world.ExpectRefusedBy("NVIDIA_OPAQUE_FORM");
  // Even with the one field that would not fit in a switch's left out.
  world.device().Opaque(kVbiosVersion) = "96.00.9F.00.01";
  world.ExpectRefusedBy("NVIDIA_CLASS");
}

TEST(NvidiaClass, RefusesASwitchsReportUnderAGpusChain) {
  TestWorld world;
  TestWorld with_switch("LS_10");
  world.device().report = with_switch.device().report;
  world.ExpectRefusedBy("NVIDIA_OPAQUE_FORM");
  world.device().Opaque(kVbiosVersion) = std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8);
  world.ExpectRefusedBy("NVIDIA_CLASS");
}

TEST(NvidiaClass, RefusesASwitchThatIsAnotherThanItsCertificates) {
  TestWorld world("LS_10");
  world.device().Opaque(kPdis)[0] ^= 1;
  world.ExpectRefusedBy("NVIDIA_PDI");
}

TEST(NvidiaLeaf, IsTheOneThatSignedTheReport) {
  TestWorld world;
  // Another device's leaf comes first.
  TestWorld other;
  world.device().edit_certificates = [&](auto* certificates) {
    certificates->insert(certificates->begin(), other.MakeEvidence().items[0].certificates[0]);
  };
  world.ExpectAccepted();
}

TEST(NvidiaLeaf, MayComeWithTheEndorsements) {
  TestWorld world;
  world.edit_evidence = [&world](EvidenceSet* set) {
    world.endorsements.certificates = set->items[0].certificates;
    set->items[0].certificates.clear();
  };
  world.ExpectAccepted();
}

TEST(NvidiaLeaf, IsMissingWhereNoneIsAtHand) {
  TestWorld world;
  world.device().edit_certificates = [](auto* certificates) { certificates->clear(); };
  world.pin_root = true;
  world.ExpectRefusedBy("NVIDIA_CERTIFICATE", Verdict::kNone);
}

TEST(NvidiaLeaf, DidNotSignTheReport) {
  TestWorld world;
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.device().report_key = other.get();
  world.ExpectRefusedBy("NVIDIA_SIGNATURE");
}

TEST(NvidiaLeaf, RefusesMalformedCertificates) {
  TestWorld world;
  world.device().edit_certificates = [](auto* certificates) { certificates->push_back("x"); };
  world.ExpectRefusedBy("NVIDIA_CERTIFICATE_FORM");
}

// Without a fresh answer nothing shows that a CA is not revoked.
TEST(NvidiaRevocation, CannotVerifyWithoutAnswersThatThePolicyWants) {
  TestWorld world;
  world.nvidia().set_require_insecure_ocsp(true);
  world.ExpectRefusedBy("NVIDIA_OCSP", Verdict::kNone);
}

absl::StatusOr<std::string> FwidOf(const std::string& oid, const std::string& value) {
  TestWorld world;
  CertificateSpec leaf = world.device().leaf();
  leaf.extensions = {{oid, value}};
  const auto certificate = Certificate::Parse(*insecure_software::MakeCertificate(leaf));
  if (!certificate.ok()) return certificate.status();
  return CertifiedFwid(*certificate);
}

TEST(CertifiedFwid, IsReadFromBothExtensions) {
  const std::string fwid(48, 'f');
  EXPECT_EQ(*FwidOf(kOidCompositeDeviceId, insecure_software::CompositeDeviceIdExtension(fwid)),
            fwid);
  EXPECT_EQ(*FwidOf(kOidDiceTcbInfo, insecure_software::DiceTcbInfoExtension(fwid)), fwid);
}

TEST(CertifiedFwid, RefusesWhatIsNone) {
  const std::string fwid(48, 'f');
  const std::string composite = insecure_software::CompositeDeviceIdExtension(fwid);
  const std::string tcb_info = insecure_software::DiceTcbInfoExtension(fwid);
  for (size_t size = 0; size < composite.size(); ++size) {
    EXPECT_FALSE(FwidOf(kOidCompositeDeviceId, composite.substr(0, size)).ok()) << size;
  }
  for (size_t size = 0; size < tcb_info.size(); ++size) {
    EXPECT_FALSE(FwidOf(kOidDiceTcbInfo, tcb_info.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(FwidOf(kOidCompositeDeviceId, composite + '\0').ok());
  EXPECT_FALSE(FwidOf(kOidCompositeDeviceId,
                      insecure_software::CompositeDeviceIdExtension(std::string(32, 'f')))
                   .ok());
  EXPECT_TRUE(absl::IsNotFound(FwidOf("1.3.6.1.4.1.99999.1", "x").status()));
}

}  // namespace
}  // namespace caravan::attestation::nvidia
