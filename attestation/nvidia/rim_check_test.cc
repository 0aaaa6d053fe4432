// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about a manifest's signer, each tried on one that passes otherwise.
#include "attestation/nvidia/rim_check.h"

#include <openssl/ec.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/nvidia/rim_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using insecure_software::CertificateSpec;
using insecure_software::RimChain;

TEST(RimSigner, PassesAsItIs) { RimWorld().ExpectAccepted(); }

TEST(RimSigner, PassesForASwitchAndAnyProduct) {
  RimWorld world("LS10");
  world.rim.kind = world.request.kind = RimKind::kSwitch;
  world.rim.version = "96.10.55.00.01";
  world.request.version = "96.10.55.00.01";
  world.chain.leaf.common_name = "insecure NVIDIA Reference Value L4 LS10";
  world.ExpectAccepted();
}

// The genuine names, another key: names and a self-signed root prove nothing.
TEST(RimRoot, RefusesAForeignRootUnderTheGenuineName) {
  RimWorld world;
  for (CertificateSpec RimChain::*member :
       {&RimChain::root, &RimChain::product, &RimChain::signing, &RimChain::leaf}) {
    CertificateSpec& spec = world.chain.*member;
    for (std::string* name : {&spec.common_name, &spec.issuer_name}) name->erase(0, 9);
  }
  world.pin_root = false;
  world.policy.add_insecure_root_spki_sha256(std::string(64, '1'));
  world.ExpectRefusedBy("ROOT");
}

// The root that the document brings along is nobody's to believe.
TEST(RimRoot, RefusesTheEmbeddedRootThatPolicyDoesNotPin) {
  RimWorld world;
  world.pin_root = false;
  world.ExpectRefusedBy("ROOT_INSECURE");
  world.policy.set_allow_insecure(false);
  world.pin_root = true;
  world.ExpectRefusedBy("ROOT_INSECURE");
}

TEST(RimRoot, AcceptsASecondCertificateOfThePinnedKey) {
  RimWorld world;
  world.ExpectAccepted();
  world.chain.root.serial = 99;
  world.chain.root.not_after += absl::Hours(24);
  world.ExpectAccepted();
}

TEST(RimRoot, MayComeFromTheEndorsements) {
  RimWorld world;
  std::string root;
  world.edit_certificates = [&](std::vector<std::string>* certificates) {
    root = certificates->back();
    certificates->pop_back();
  };
  world.ExpectRefusedBy("CHAIN", Verdict::kNone);
  world.more = [&](Endorsements* endorsements) { endorsements->certificates.push_back(root); };
  world.ExpectAccepted();
}

TEST(RimChain, RefusesLinksThatTheIssuerDidNotSign) {
  for (CertificateSpec RimChain::*member :
       {&RimChain::leaf, &RimChain::signing, &RimChain::product}) {
    RimWorld world;
    const EvpPkeyPtr other = *insecure_software::MakeP384Key();
    (world.chain.*member).issuer_key = other.get();
    world.ExpectRefusedBy("CHAIN");
  }
}

TEST(RimChain, CannotVerifyWithoutACertificateOfTheMiddle) {
  for (size_t missing : {1, 2}) {
    RimWorld world;
    world.edit_certificates = [&](std::vector<std::string>* certificates) {
      certificates->erase(certificates->begin() + static_cast<std::ptrdiff_t>(missing));
    };
    world.ExpectRefusedBy("CHAIN", Verdict::kNone);
  }
}

TEST(RimChain, RefusesMalformedCertificates) {
  RimWorld world;
  world.edit_certificates = [](std::vector<std::string>* certificates) {
    certificates->at(2).push_back('\0');
  };
  world.ExpectRefusedBy("CHAIN");
}

// Certificates stand outside what the document's signature covers.
TEST(RimChain, RefusesAFlippedBitInAnyCertificate) {
  RimWorld world;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t at = i; at < 500; at += 23) {
      world.edit_certificates = [=](std::vector<std::string>* certificates) {
        std::string& der = (*certificates)[i];
        der[at % der.size()] ^= static_cast<char>(1 << (at % 8));
      };
      EXPECT_FALSE(world.Find().has_value()) << "certificate " << i << " byte " << at;
    }
  }
}

TEST(RimChain, RefusesOtherHashes) {
  RimWorld world;
  world.chain.signing.digest = EVP_sha256();
  world.ExpectRefusedBy("CHAIN");
}

// A GB100 signer under the same root for a GH100.
TEST(RimRole, RefusesTheSignerOfAnotherProduct) {
  RimWorld world("GB100");
  world.rim.product = world.request.product = "GH100";
  world.ExpectRefusedBy("ROLE");
}

// NVIDIA's development signers say so in their names alone.
TEST(RimRole, RefusesDebugOnlySigners) {
  RimWorld world;
  world.chain.signing.common_name = world.chain.leaf.issuer_name =
      "insecure NVIDIA Reference Value L3 GH100 001 Debug Only";
  world.ExpectRefusedBy("ROLE");
  RimWorld root;
  root.chain.root.common_name = root.chain.root.issuer_name = root.chain.product.issuer_name =
      "insecure NVIDIA CoRIM L1 Root CA Debug Only";
  root.ExpectRefusedBy("ROLE");
}

TEST(RimRole, RefusesNamesOutOfTheirPlace) {
  for (const char* name : {"insecure HCC RIM L4 Signer 2", "insecure GH100 A01 GSP FMC LF",
                           "insecure NVIDIA Reference Value L4 GB100"}) {
    RimWorld world;
    world.chain.leaf.common_name = name;
    world.ExpectRefusedBy("ROLE");
  }
  RimWorld product;
  product.chain.product.common_name = product.chain.signing.issuer_name =
      "insecure NVIDIA GH100 Identity";
  product.ExpectRefusedBy("ROLE");
}

TEST(RimConstraints, RefusesCasThatAreNoneAndSignersThatAre) {
  RimWorld leaf_ca;
  leaf_ca.chain.leaf.is_ca = true;
  leaf_ca.ExpectRefusedBy("CONSTRAINTS");
  for (CertificateSpec RimChain::*member :
       {&RimChain::signing, &RimChain::product, &RimChain::root}) {
    RimWorld world;
    (world.chain.*member).is_ca = false;
    world.ExpectRefusedBy("CONSTRAINTS");
  }
  RimWorld curve;
  const EvpPkeyPtr other(EVP_EC_gen("P-256"));
  curve.chain.product.subject_key = curve.chain.signing.issuer_key = other.get();
  curve.ExpectRefusedBy("CONSTRAINTS");
  RimWorld path;
  path.chain.product.path_length = 0;
  path.ExpectRefusedBy("CONSTRAINTS");
  RimWorld critical;
  critical.chain.leaf.critical_oid = "1.3.6.1.4.1.99999.1";
  critical.ExpectRefusedBy("CONSTRAINTS");
  RimWorld usage;
  usage.chain.leaf.extensions = {
      {"2.5.29.15", std::string("\x03\x02\x05\x20", 4)}};  // encipherment
  usage.ExpectRefusedBy("CONSTRAINTS");
}

// Time is the caller's; a certificate that has expired or is not valid yet signs nothing.
TEST(RimTime, RefusesEachCertificateOutsideItsValidity) {
  for (CertificateSpec RimChain::*member :
       {&RimChain::leaf, &RimChain::signing, &RimChain::product, &RimChain::root}) {
    RimWorld expired;
    (expired.chain.*member).not_after = expired.now - absl::Seconds(1);
    expired.ExpectRefusedBy("VALIDITY");
    RimWorld early;
    (early.chain.*member).not_before = early.now + absl::Seconds(1);
    early.ExpectRefusedBy("VALIDITY");
  }
}

TEST(RimSignature, RefusesValuesThatWereChangedAfterSigning) {
  RimWorld value;
  value.edit_document = [](std::string* text) { absl::StrReplaceAll({{"7070", "7071"}}, text); };
  value.ExpectRefusedBy("SIGNATURE");
  RimWorld flag;
  flag.edit_document = [](std::string* text) {
    absl::StrReplaceAll({{"index=\"7\" active=\"True\"", "index=\"7\" active=\"False\""}}, text);
  };
  flag.ExpectRefusedBy("SIGNATURE");
}

TEST(RimSignature, RefusesTheKeyOfAnyOtherCertificate) {
  for (EvpPkeyPtr RimChain::*key : {&RimChain::signing_key, &RimChain::root_key}) {
    RimWorld world;
    world.document_key = (world.chain.*key).get();
    world.ExpectRefusedBy("SIGNATURE");
  }
}

// The digest is right, and another key signed it: only SignedInfo's signature can tell.
TEST(RimSignature, RefusesADigestThatNobodySigned) {
  RimWorld world;
  const EvpPkeyPtr other = *insecure_software::MakeP384Key();
  world.document_key = other.get();
  world.ExpectRefusedBy("SIGNATURE");
}

TEST(RimChoice, CannotVerifyWithoutTheManifestAskedFor) {
  RimWorld version;
  version.request.version = "550.90.07";
  version.ExpectRefusedBy("", Verdict::kNone);
  EXPECT_NE(version.appraisal().Decisive()->hint.find("NV_GPU_DRIVER_GH100_545.00"),
            std::string::npos);
  RimWorld product;
  product.request.product = "GB100";
  product.ExpectRefusedBy("", Verdict::kNone);
  RimWorld kind;
  kind.request.kind = RimKind::kSwitch;
  kind.ExpectRefusedBy("", Verdict::kNone);
  RimWorld malformed;
  malformed.edit_document = [](std::string* text) { text->pop_back(); };
  malformed.ExpectRefusedBy("", Verdict::kNone);
  EXPECT_NE(malformed.appraisal().Decisive()->detail.find("line "), std::string::npos)
      << malformed.Explain();
}

// A renewed manifest beside its expired self.
TEST(RimChoice, TakesTheOneOfSeveralThatPasses) {
  RimWorld world;
  const std::string good = world.Document();
  world.chain.leaf.not_after = world.now - absl::Seconds(1);
  world.ExpectRefusedBy("VALIDITY");
  world.more = [&](Endorsements* endorsements) { endorsements->rims.push_back(good); };
  world.ExpectAccepted();
}

TEST(RimChoice, GivesTheValuesThatWereSigned) {
  RimWorld world;
  const std::optional<VerifiedRim> found = world.Find();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->rim.golden.size(), 3u);
  EXPECT_EQ(found->rim.golden[2].index, 21);
  EXPECT_EQ(found->rim.golden[2].name, "MixedMeasurement_21");
  EXPECT_EQ(found->rim.golden[2].alternatives,
            (std::vector<crypto::Sha384Digest>{TestDigest(0xA0), TestDigest(0xA1)}));
  EXPECT_EQ(found->rim.tag_id, "0123456789abcdef");
}

}  // namespace
}  // namespace caravan::attestation::nvidia
