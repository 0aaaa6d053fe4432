// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim_world.h"

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {

crypto::Sha384Digest TestDigest(uint8_t value) {
  crypto::Sha384Digest digest;
  digest.fill(value);
  return digest;
}

Rim TestRim() {
  return {.tag_id = "0123456789abcdef",
          .kind = RimKind::kDriver,
          .product = "GH100",
          .version = "545.00",
          .golden = {{0, false, "Measurement_0", {TestDigest(0)}},
                     {7, true, "Measurement_7", {TestDigest(0x70)}},
                     {21, true, "MixedMeasurement_21", {TestDigest(0xA0), TestDigest(0xA1)}}}};
}

RimWorld::RimWorld(const std::string& product) : rim(TestRim()) {
  auto made = insecure_software::MakeRimChain(product, now);
  EXPECT_TRUE(made.ok()) << made.status();
  chain = *std::move(made);
  rim.product = product;
  request = {"RIM", RimKind::kDriver, product, "545.00", "NV_GPU_DRIVER_GH100_545.00"};
  policy.set_name("world");
  policy.set_allow_insecure(true);
}

std::string RimWorld::Document() {
  auto certificates = insecure_software::MakeCertificates(chain);
  EXPECT_TRUE(certificates.ok()) << certificates.status();
  if (pin_root) {
    policy.clear_insecure_root_spki_sha256();
    policy.add_insecure_root_spki_sha256(
        base::ToHex(Certificate::Parse(certificates->back())->SpkiSha256()));
  }
  edit_certificates(&*certificates);
  std::string text = insecure_software::RimText(rim, *certificates);
  edit_text(&text);
  auto document = insecure_software::SignRim(
      std::move(text), document_key == nullptr ? chain.leaf_key.get() : document_key);
  EXPECT_TRUE(document.ok()) << document.status();
  edit_document(&*document);
  return *document;
}

std::optional<VerifiedRim> RimWorld::Find() {
  appraisal_ = {};
  CheckList checks(&appraisal_);
  Endorsements endorsements;
  endorsements.rims.push_back(Document());
  endorsements.known_signatures = known_;
  more(&endorsements);
  std::optional<VerifiedRim> found = FindRim(request, endorsements, policy, now, &checks);
  checks.Conclude();
  return found;
}

std::string RimWorld::Explain() const {
  std::string text(Name(appraisal_.verdict));
  for (const Check& check : appraisal_.checks) {
    absl::StrAppend(&text, "\n  ", check.id, " ", std::string(Name(check.outcome)), ": ",
                    check.detail);
  }
  return text;
}

void RimWorld::ExpectRefusedBy(std::string_view id, Verdict verdict) {
  EXPECT_FALSE(Find().has_value()) << Explain();
  EXPECT_EQ(appraisal_.verdict, verdict) << Explain();
  ASSERT_NE(appraisal_.Decisive(), nullptr) << Explain();
  EXPECT_EQ(appraisal_.Decisive()->id, id.empty() ? "RIM" : absl::StrCat("RIM_", std::string(id)))
      << Explain();
  EXPECT_FALSE(appraisal_.Decisive()->detail.empty());
}

void RimWorld::ExpectAccepted() {
  const std::optional<VerifiedRim> found = Find();
  ASSERT_TRUE(found.has_value()) << Explain();
  EXPECT_EQ(appraisal_.verdict, Verdict::kWarning) << Explain();
  EXPECT_TRUE(found->insecure);
  EXPECT_EQ(found->chain.size(), 4u);
}

}  // namespace caravan::attestation::nvidia
