// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/test_world.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {

VtpmWorld::VtpmWorld(HardwareType type, intel::WorldKind kind)
    : td_world(kind), claims(*insecure_software::MakeRuntimeClaims(ak.get())), type_(type) {
  now = snp() ? snp_world.now : td_world.now;
  for (uint8_t i = 0; i < kPcrs; ++i) pcrs[i].fill(i);
  for (size_t i = 0; i < expected.bytes.size(); ++i) {
    expected.bytes[i] = static_cast<uint8_t>(0x80 + i);
  }
  policy.set_name("world");
  policy.set_allow_insecure(true);
  v1::VtpmMeasurement* measurement = vtpm().add_measurements();
  measurement->set_name("the image");
  for (uint8_t index : {4, 7}) {
    v1::VtpmPcr* pcr = measurement->add_pcrs();
    pcr->set_index(index);
    pcr->set_sha256(base::ToHex(pcrs[index]));
  }
  if (snp()) {
    *vtpm().mutable_snp() = snp_world.policy.snp();
  } else {
    *vtpm().mutable_tdx() = td_world.policy.tdx();
  }
}

std::pair<Evidence, Endorsements> VtpmWorld::Make() {
  std::array<uint8_t, 64> bound{};
  const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(claims));
  if (bind_claims) std::copy(digest.begin(), digest.end(), bound.begin());
  VtpmEvidence parts;
  std::pair<Evidence, Endorsements> made;
  const Policy* pins = nullptr;
  if (snp()) {
    snp_world.report.report_data = bound;
    made = snp_world.Make();
    parts.hcl_report = insecure_software::MakeHclReport(type_, made.first.report, claims);
    pins = &snp_world.policy;
  } else {
    std::copy(bound.begin(), bound.end(), td_world.body.begin() + 520);
    auto [set, endorsements] = td_world.Assemble();
    made = {std::move(set.items[0]), std::move(endorsements)};
    std::string report = insecure_software::MakeTdReport(td_world.body);
    edit_td_report(&report);
    parts.hcl_report = insecure_software::MakeHclReport(type_, report, claims);
    parts.td_quote = made.first.report;
    pins = &td_world.policy;
  }
  *policy.mutable_insecure_root_spki_sha256() = pins->insecure_root_spki_sha256();
  edit_hcl_report(&parts.hcl_report);

  if (with_ak_public) {
    parts.ak_public = *insecure_software::MakePublicArea(ak.get(), ak_attributes);
    quote.qualified_signer = QualifiedNames(parts.ak_public)[0];
  }
  if (with_nonce) {
    const crypto::Sha256Digest nonce = TpmNonce(expected);
    quote.extra_data.assign(nonce.begin(), nonce.end());
  }
  const crypto::Sha256Digest pcr_digest = insecure_software::PcrDigest(pcrs);
  quote.pcr_digest.assign(pcr_digest.begin(), pcr_digest.end());
  parts.pcrs = pcrs;
  parts.quote = insecure_software::MakeTpmQuote(quote);
  edit_quote(&parts.quote);
  parts.signature = *insecure_software::SignRsa(quote_key, parts.quote);
  if (wrap_signature) parts.signature = insecure_software::WrapSignature(parts.signature);
  edit_evidence(&parts);
  made.first.kind = EvidenceKind::kVtpm;
  made.first.report = Encode(parts);
  return made;
}

Appraisal VtpmWorld::Appraise() {
  const auto [item, endorsements] = Make();
  return Verify(EvidenceSet{{item}}, endorsements, policy, expected, now);
}

void VtpmWorld::ExpectRefusedBy(std::string_view id, Verdict verdict) {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, verdict) << intel::TestWorld::Explain(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr) << intel::TestWorld::Explain(appraisal);
  EXPECT_EQ(appraisal.Decisive()->id, id) << intel::TestWorld::Explain(appraisal);
  EXPECT_FALSE(appraisal.Decisive()->detail.empty());
}

void VtpmWorld::ExpectAccepted() {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << intel::TestWorld::Explain(appraisal);
  EXPECT_TRUE(appraisal.insecure);
}

}  // namespace caravan::attestation::tpm
