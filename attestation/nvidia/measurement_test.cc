// SPDX-License-Identifier: Apache-2.0
//
// Measurements against manifests, and the revocation of those who signed, each mistake tried in a
// world that passes otherwise.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge_ocsp.h"
#include "attestation/insecure_software/forge_rim.h"
#include "attestation/nvidia/golden.h"
#include "attestation/nvidia/test_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using insecure_software::OcspSpec;
using insecure_software::OcspStatus;
using insecure_software::RimChain;

// A GPU whose driver's and VBIOS's manifests cover every block, half of them each.
class ManifestWorld {
 public:
  ManifestWorld() {
    world.nvidia().set_any_measurement(false);
    driver = MakeRim(RimKind::kDriver, "550.90.07", 0, 32);
    vbios = MakeRim(RimKind::kVbios, "96.00.9F.00.01", 32, 64);
  }

  void Sign() {
    auto certificates = insecure_software::MakeCertificates(chain);
    ASSERT_TRUE(certificates.ok()) << certificates.status();
    world.Pin(certificates->back());
    signers = *certificates;
    world.endorsements.rims.clear();
    for (const Rim* rim : {&driver, &vbios}) {
      if (rim->golden.empty()) continue;
      auto text = insecure_software::SignRim(insecure_software::RimText(*rim, *certificates),
                                             chain.leaf_key.get());
      ASSERT_TRUE(text.ok()) << text.status();
      world.endorsements.rims.push_back(*std::move(text));
    }
  }

  void ExpectAccepted() {
    Sign();
    world.ExpectAccepted();
    EXPECT_EQ(TestWorld::OutcomeOf(world.Appraise(), "NVIDIA_PRODUCTION"), "passed");
  }
  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated) {
    Sign();
    world.ExpectRefusedBy(id, verdict);
    EXPECT_NE(TestWorld::OutcomeOf(world.Appraise(), "NVIDIA_PRODUCTION"), "passed");
  }

  // An answer about chain[i] of a chain in DER, leaf first, by its issuer.
  void Answer(const std::vector<std::string>& der, const std::vector<EVP_PKEY*>& keys, size_t i,
              OcspStatus status, int reason = insecure_software::kNoReason,
              absl::Duration age = absl::Hours(1)) {
    OcspSpec spec{.certificate = der[i],
                  .issuer = der[i + 1],
                  .status = status,
                  .reason = reason,
                  .this_update = world.now - age,
                  .produced_at = world.now - age,
                  .next_update = world.now - age + absl::Hours(4),
                  .signer = der[i + 1],
                  .key = keys[i + 1]};
    auto response = insecure_software::MakeOcspResponse(spec);
    ASSERT_TRUE(response.ok()) << response.status();
    world.endorsements.ocsp_responses.push_back(*std::move(response));
  }
  void AnswerDevice(size_t i, OcspStatus status, int reason = insecure_software::kNoReason,
                    absl::Duration age = absl::Hours(1)) {
    TestDevice& device = world.device();
    Answer(world.MakeEvidence().items[0].certificates,
           {device.leaf_key.get(), device.ca_key.get(), world.provisioner_key.get(),
            world.identity_key.get(), world.root_key.get()},
           i, status, reason, age);
  }
  void AnswerSigner(size_t i, OcspStatus status) {
    Answer(signers,
           {chain.leaf_key.get(), chain.signing_key.get(), chain.product_key.get(),
            chain.root_key.get()},
           i, status);
  }

  TestWorld world;
  RimChain chain = *insecure_software::MakeRimChain("GH100", world.now);
  std::vector<std::string> signers;  // DER
  Rim driver, vbios;

 private:
  static Rim MakeRim(RimKind kind, const std::string& version, uint8_t from, uint8_t end) {
    Rim rim{.tag_id = absl::StrCat("tag", from),
            .kind = kind,
            .product = "GH100",
            .version = version,
            .golden = {}};
    for (uint8_t i = from; i < end; ++i) {
      GoldenEntry entry;
      entry.index = i;
      entry.active = true;
      entry.name = absl::StrCat("Measurement_", i);
      entry.alternatives.emplace_back();
      // Golden index i is block i + 1.
      entry.alternatives[0].fill(static_cast<uint8_t>(i + 1));
      rim.golden.push_back(std::move(entry));
    }
    return rim;
  }
};

TEST(NvidiaManifests, PassWhereEveryMeasurementMatches) { ManifestWorld().ExpectAccepted(); }

// Debug firmware and DevTools mode measure otherwise than production does, and nothing else tells.
TEST(NvidiaManifests, RefuseDevToolsModeByAnyMeasurementThatDiffers) {
  for (size_t block : {0, 31, 32, 63}) {
    ManifestWorld w;
    w.world.device().report.blocks[block].digest[47] ^= 1;
    w.ExpectRefusedBy("NVIDIA_GOLDEN");
  }
}

TEST(NvidiaManifests, AllowEachAlternative) {
  ManifestWorld w;
  crypto::Sha384Digest other;
  other.fill(0xEE);
  w.driver.golden[5].alternatives.push_back(other);
  w.ExpectAccepted();
  w.world.device().report.blocks[5].digest = std::string(kDigestSize, '\xEE');
  w.ExpectAccepted();
}

TEST(NvidiaManifests, RefuseAMeasurementThatIsAbsent) {
  ManifestWorld w;
  w.world.device().report.blocks.erase(w.world.device().report.blocks.begin() + 7);
  w.ExpectRefusedBy("NVIDIA_GOLDEN");
}

// A valid signature over other values does not make them right: indices are off by one.
TEST(NvidiaManifests, CountFromZeroWhereReportsCountFromOne) {
  ManifestWorld w;
  for (GoldenEntry& entry : w.driver.golden) entry.alternatives[0].fill(entry.index);
  w.ExpectRefusedBy("NVIDIA_GOLDEN");
}

TEST(NvidiaManifests, HaveToSpeakOfEveryMeasurement) {
  ManifestWorld w;
  w.vbios.golden.back().active = false;
  w.ExpectRefusedBy("NVIDIA_GOLDEN_COVERAGE");
  w.world.nvidia().set_allow_uncovered_measurements(true);
  w.Sign();
  w.world.ExpectAccepted();
  const Appraisal appraisal = w.world.Appraise();
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_GOLDEN_COVERAGE"), "warned");
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_PRODUCTION"), "skipped");
}

// The block in which DevTools mode would show may be the one that no manifest speaks of.
TEST(NvidiaManifests, DoNotClaimThatDevToolsModeIsOffPastAnUncoveredBlock) {
  ManifestWorld w;
  w.vbios.golden.back().active = false;
  w.world.nvidia().set_allow_uncovered_measurements(true);
  w.world.device().report.blocks.back().digest[0] ^= 1;
  w.Sign();
  w.world.ExpectAccepted();
  EXPECT_EQ(TestWorld::OutcomeOf(w.world.Appraise(), "NVIDIA_PRODUCTION"), "skipped");
}

TEST(NvidiaManifests, RefuseAnIndexThatTwoSpeakOf) {
  ManifestWorld w;
  w.vbios.golden.insert(w.vbios.golden.begin(), w.driver.golden.back());
  w.ExpectRefusedBy("NVIDIA_GOLDEN_CONFLICT");
}

TEST(NvidiaManifests, LeaveNvdec0sRegistersAloneWhereItIsOff) {
  ManifestWorld w;
  w.world.device().report.blocks[kNvdec0Index].digest[0] ^= 1;
  w.ExpectAccepted();
  w.world.device().Opaque(kNvdec0Status) = "\xAA";
  w.ExpectRefusedBy("NVIDIA_GOLDEN");
  // Where the report does not say, they count.
  w.world.device().DropOpaque(kNvdec0Status);
  w.ExpectRefusedBy("NVIDIA_GOLDEN");
}

TEST(NvidiaManifests, AreNeededForDriverAndVbios) {
  ManifestWorld w;
  w.driver.golden.clear();
  w.ExpectRefusedBy("NVIDIA_DRIVER_RIM", Verdict::kNone);
  ManifestWorld v;
  v.vbios.golden.clear();
  v.ExpectRefusedBy("NVIDIA_VBIOS_RIM", Verdict::kNone);
}

TEST(NvidiaManifests, AreOfTheReportsVersions) {
  ManifestWorld w;
  w.driver.version = "550.90.08";
  w.ExpectRefusedBy("NVIDIA_DRIVER_RIM", Verdict::kNone);
  ManifestWorld v;
  v.vbios.version = "96.00.9F.00.02";
  v.ExpectRefusedBy("NVIDIA_VBIOS_RIM", Verdict::kNone);
}

TEST(NvidiaManifests, AreOfTheDevicesChip) {
  ManifestWorld w;
  w.driver.product = "GB100";
  w.ExpectRefusedBy("NVIDIA_DRIVER_RIM", Verdict::kNone);
}

TEST(NvidiaManifests, AreSignedForTheDevicesChip) {
  ManifestWorld w;
  w.chain = *insecure_software::MakeRimChain("GB100", w.world.now);
  w.ExpectRefusedBy("NVIDIA_DRIVER_RIM_ROLE");
}

TEST(NvidiaManifests, AreRefusedUnderARootThatPolicyDoesNotPin) {
  ManifestWorld w;
  w.Sign();
  w.world.pin_root = false;
  w.world.policy.clear_insecure_root_spki_sha256();
  w.world.Pin(w.world.MakeEvidence().items[0].certificates.back());
  w.world.ExpectRefusedBy("NVIDIA_DRIVER_RIM_ROOT_INSECURE");
}

TEST(NvidiaManifests, AreHeldAgainstASwitchToo) {
  TestWorld world("LS_10");
  world.nvidia().set_any_measurement(false);
  Rim rim{
      .tag_id = "tag", .kind = RimKind::kSwitch, .product = "LS10", .version = "96.10.55.00.01"};
  for (uint8_t i = 0; i < 31; ++i) {
    rim.golden.push_back({i, true, "Measurement", {crypto::Sha384Digest()}});
    rim.golden.back().alternatives[0].fill(static_cast<uint8_t>(i + 1));
  }
  const RimChain chain = *insecure_software::MakeRimChain("LS10", world.now);
  const auto certificates = *insecure_software::MakeCertificates(chain);
  world.Pin(certificates.back());
  world.endorsements.rims = {*insecure_software::SignRim(
      insecure_software::RimText(rim, certificates), chain.leaf_key.get())};
  world.ExpectAccepted();
  world.device().report.blocks[30].digest[0] ^= 1;
  world.ExpectRefusedBy("NVIDIA_GOLDEN");
}

// What held before vouches for no other content under the same signature.
TEST(NvidiaManifests, RefuseContentThatDiffersFromWhatWasAcceptedBefore) {
  ManifestWorld w;
  w.ExpectAccepted();
  std::string& text = w.world.endorsements.rims[0];
  const size_t at = text.find("020202");
  ASSERT_NE(at, std::string::npos);
  text[at] = '1';
  w.world.ExpectRefusedBy("NVIDIA_DRIVER_RIM_SIGNATURE");
}

// Answers about device CA, provisioner and identity; the leaf is the device's own affair.
class Revocation : public testing::Test {
 protected:
  Revocation() {
    w_.world.nvidia().set_any_measurement(true);
    w_.world.nvidia().set_require_insecure_ocsp(true);
  }
  void AllGoodBut(size_t but) {
    for (size_t i = 1; i < 4; ++i) {
      if (i != but) w_.AnswerDevice(i, OcspStatus::kGood);
    }
  }

  ManifestWorld w_;
};

TEST_F(Revocation, PassesWithGoodAnswersAboutEveryCa) {
  AllGoodBut(0);
  w_.world.ExpectAccepted();
}

TEST_F(Revocation, CannotVerifyWithoutEachAnswer) {
  for (size_t but : {1, 2, 3}) {
    w_.world.endorsements.ocsp_responses.clear();
    AllGoodBut(but);
    w_.world.ExpectRefusedBy("NVIDIA_OCSP", Verdict::kNone);
  }
}

TEST_F(Revocation, RefusesEachRevokedCa) {
  for (size_t but : {1, 2, 3}) {
    w_.world.endorsements.ocsp_responses.clear();
    AllGoodBut(but);
    w_.AnswerDevice(but, OcspStatus::kRevoked, insecure_software::kKeyCompromise);
    w_.world.ExpectRefusedBy("NVIDIA_REVOKED");
    // Nor does a policy that does without answers.
    w_.world.nvidia().set_require_insecure_ocsp(false);
    w_.world.ExpectRefusedBy("NVIDIA_REVOKED");
    w_.world.nvidia().set_require_insecure_ocsp(true);
  }
}

TEST_F(Revocation, RefusesAHoldUntilThePolicyAllows) {
  AllGoodBut(1);
  w_.AnswerDevice(1, OcspStatus::kRevoked, insecure_software::kCertificateHold);
  w_.world.ExpectRefusedBy("NVIDIA_HOLD");
  w_.world.nvidia().set_allow_certificate_hold(true);
  w_.world.ExpectAccepted();
  EXPECT_EQ(TestWorld::OutcomeOf(w_.world.Appraise(), "NVIDIA_HOLD"), "warned");
}

TEST_F(Revocation, CannotVerifyByAnAnswerThatDiffersFromWhatItTookBefore) {
  AllGoodBut(0);
  w_.world.ExpectAccepted();
  // A byte of the signature, which comes last.
  w_.world.endorsements.ocsp_responses[0].back() ^= 1;
  w_.world.ExpectRefusedBy("NVIDIA_OCSP", Verdict::kNone);
}

TEST_F(Revocation, CannotVerifyByAStaleAnswer) {
  AllGoodBut(2);
  w_.AnswerDevice(2, OcspStatus::kGood, insecure_software::kNoReason, absl::Hours(5));
  w_.world.ExpectRefusedBy("NVIDIA_OCSP", Verdict::kNone);
}

TEST_F(Revocation, CannotVerifyByAnAnswerAboutAnother) {
  AllGoodBut(1);
  ManifestWorld other;
  other.AnswerDevice(1, OcspStatus::kGood);
  w_.world.endorsements.ocsp_responses.push_back(other.world.endorsements.ocsp_responses[0]);
  w_.world.ExpectRefusedBy("NVIDIA_OCSP", Verdict::kNone);
}

TEST_F(Revocation, IsAskedAboutSignersOfManifestsToo) {
  w_.world.nvidia().set_any_measurement(false);
  w_.Sign();
  AllGoodBut(0);
  for (size_t i = 0; i < 2; ++i) w_.AnswerSigner(i, OcspStatus::kGood);
  w_.world.ExpectRefusedBy("NVIDIA_DRIVER_RIM_OCSP", Verdict::kNone);
  w_.AnswerSigner(2, OcspStatus::kGood);
  w_.world.ExpectAccepted();
  w_.AnswerSigner(0, OcspStatus::kRevoked);
  w_.world.ExpectRefusedBy("NVIDIA_DRIVER_RIM_REVOKED");
}

}  // namespace
}  // namespace caravan::attestation::nvidia
