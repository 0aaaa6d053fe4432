// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "attestation/hex.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/intel/test_world.h"
#include "attestation/nvidia/golden.h"
#include "attestation/nvidia/rim_world.h"
#include "attestation/verifier.h"
#include "bench/verify/subjects.h"

namespace caravan::bench {
namespace {

using attestation::Endorsements;
using attestation::EvidenceSet;
using attestation::Policy;
using attestation::ReportData;

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "verify_perf: %s\n", value.status().ToString().c_str());
  std::exit(1);
}

Subject MakeSubject(std::string name, EvidenceSet evidence, Endorsements endorsements,
                    Policy policy, ReportData expected, absl::Time now) {
  return {std::move(name), [evidence = std::move(evidence), endorsements = std::move(endorsements),
                            policy = std::move(policy), expected, now] {
            return attestation::Verify(evidence, endorsements, policy, expected, now).accepted();
          }};
}

Subject Snp() {
  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  const auto root = OrDie(attestation::InsecureRoot::Create(now));
  attestation::InsecureAttesterOptions options;
  options.chip_id = attestation::DeriveInsecureChipId("bench");
  const auto attester = OrDie(attestation::MakeInsecureAttester(root, options, now));
  ReportData data;
  data.bytes.fill(0x42);
  EvidenceSet evidence = OrDie(attester->Collect(data));
  Policy policy;
  policy.set_name("bench");
  policy.set_allow_insecure(true);
  policy.add_insecure_root_spki_sha256(attestation::ToHex(root.SpkiSha256()));
  policy.mutable_snp()->set_any_measurement(true);
  policy.mutable_snp()->set_any_platform(true);
  policy.mutable_snp()->set_any_tcb(true);
  return MakeSubject("snp, synthetic", std::move(evidence),
                     {.certificates = root.ChainDer(), .crls = {root.CrlDer()}}, policy, data, now);
}

Subject Intel(std::string name, attestation::intel::WorldKind kind) {
  attestation::intel::TestWorld world(kind);
  auto [evidence, endorsements] = world.Assemble();
  return MakeSubject(std::move(name), std::move(evidence), std::move(endorsements), world.policy,
                     world.expected, world.now);
}

// A driver's manifest as long as NVIDIA's, and a report's measurements against it.
Subject Manifest() {
  namespace nvidia = attestation::nvidia;
  nvidia::RimWorld world;
  world.rim.golden.clear();
  std::vector<nvidia::MeasuredBlock> blocks;
  for (uint8_t i = 0; i < 64; ++i) {
    world.rim.golden.push_back({i, i % 2 == 0, "Measurement", {nvidia::TestDigest(i)}});
    blocks.push_back({static_cast<uint8_t>(i + 1), std::string(48, i % 2 == 0 ? char(i) : '\0')});
  }
  Endorsements endorsements;
  endorsements.rims.push_back(world.Document());
  return {"nvidia manifest, synthetic",
          [endorsements = std::move(endorsements), blocks = std::move(blocks),
           request = world.request, policy = world.policy, now = world.now] {
            attestation::Appraisal appraisal;
            attestation::CheckList checks(&appraisal);
            const auto found = nvidia::FindRim(request, endorsements, policy, now, &checks);
            return found.has_value() &&
                   nvidia::CompareGolden({&found->rim}, blocks, false).Matches();
          }};
}

}  // namespace

std::vector<Subject> SyntheticSubjects() {
  using attestation::intel::WorldKind;
  return {Snp(), Intel("tdx v4, synthetic", WorldKind::kTd10),
          Intel("tdx v5, synthetic", WorldKind::kTd15),
          Intel("sgx v3, synthetic", WorldKind::kSgx3), Manifest()};
}

}  // namespace caravan::bench
