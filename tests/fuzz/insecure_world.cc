// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/insecure_world.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

constexpr size_t kSignedBytes = 0x2A0;  // of a report (AMD 56860, ATTESTATION_REPORT)

}  // namespace

const InsecureWorld& InsecureWorld::Get() {
  static const InsecureWorld& world = *new InsecureWorld();
  return world;
}

InsecureWorld::InsecureWorld() : now_(absl::Now()) {
  report_data_.bytes.fill(0x42);
  const auto root = attestation::InsecureRoot::Create(now_);
  Require(root.ok(), "a root can be made");
  attestation::InsecureAttesterOptions options;
  options.measurement.fill(0x11);
  options.chip_id = attestation::DeriveInsecureChipId("fuzz");
  const auto attester = attestation::MakeInsecureAttester(*root, options, now_);
  Require(attester.ok(), "an attester can be made");
  auto evidence = (*attester)->Collect(report_data_);
  Require(evidence.ok(), "evidence can be made");
  evidence_ = *std::move(evidence);

  attestation::Policy policy;
  policy.set_name("fuzz");
  policy.set_allow_insecure(true);
  const crypto::Sha256Digest spki = root->SpkiSha256();
  policy.add_insecure_root_spki_sha256(
      absl::BytesToHexString({reinterpret_cast<const char*>(spki.data()), spki.size()}));
  policy.mutable_snp()->set_any_measurement(true);
  policy.mutable_snp()->set_any_platform(true);
  policy.mutable_snp()->set_any_tcb(true);
  attestation::Endorsements endorsements;
  endorsements.certificates = root->ChainDer();
  endorsements.crls = {root->CrlDer()};
  auto appraiser = attestation::MakeAppraiser(std::move(policy), std::move(endorsements));
  Require(appraiser.ok(), "an appraiser can be made");
  appraiser_ = *std::move(appraiser);
  Require(appraiser_->Appraise(evidence_, report_data_, now_).accepted(),
          "genuine evidence is accepted");
}

void InsecureWorld::RequireGenuine(const attestation::EvidenceSet& set) const {
  if (!appraiser_->Appraise(set, report_data_, now_).accepted()) return;
  Require(!set.items.empty(), "an empty set is refused");
  const std::string& report = set.items[0].report;
  Require(report.size() == evidence_.items[0].report.size(), "a report has one size");
  Require(report.substr(0, kSignedBytes) == evidence_.items[0].report.substr(0, kSignedBytes),
          "an accepted report is the signed one");
}

}  // namespace caravan::fuzz
