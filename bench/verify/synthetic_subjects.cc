// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "attestation/insecure_software/forge_rim.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/intel/test_world.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/test_world.h"
#include "base/hex.h"
#include "bench/verify/subjects.h"

namespace caravan::bench {
namespace {

using attestation::EvidenceSet;
using attestation::Policy;
using attestation::ReportData;
namespace insecure_software = attestation::insecure_software;

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "verify_perf: %s\n", value.status().ToString().c_str());
  std::exit(1);
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
  policy.add_insecure_root_spki_sha256(base::ToHex(root.SpkiSha256()));
  policy.mutable_snp()->set_any_measurement(true);
  policy.mutable_snp()->set_any_platform(true);
  policy.mutable_snp()->set_any_tcb(true);
  return MakeSubject("snp, synthetic", std::move(evidence),
                     {.certificates = root.ChainDer(), .crls = {root.CrlDer()}}, policy,
                     attestation::ReportDataExpectation::Exactly(data), now);
}

Subject Intel(std::string name, attestation::intel::WorldKind kind) {
  attestation::intel::TestWorld world(kind);
  auto [evidence, endorsements] = world.Assemble();
  return MakeSubject(std::move(name), std::move(evidence), std::move(endorsements), world.policy,
                     attestation::ReportDataExpectation::Exactly(world.expected), world.now);
}

// A Hopper GPU with its driver's and its VBIOS's manifests, as long as NVIDIA's.
Subject Gpu() {
  namespace nvidia = attestation::nvidia;
  nvidia::TestWorld world;
  world.nvidia().set_any_measurement(false);
  const auto chain = OrDie(insecure_software::MakeRimChain("GH100", world.now));
  const auto certificates = OrDie(insecure_software::MakeCertificates(chain));
  world.Pin(certificates.back());
  for (const auto& [kind, version] : {std::pair(nvidia::RimKind::kDriver, "550.90.07"),
                                      std::pair(nvidia::RimKind::kVbios, "96.00.9F.00.01")}) {
    nvidia::Rim rim{.tag_id = version, .kind = kind, .product = "GH100", .version = version};
    for (uint8_t i = 0; i < 64; ++i) {
      const bool active = (i < 32) == (kind == nvidia::RimKind::kDriver);
      nvidia::GoldenEntry entry{i, active, "Measurement", {}};
      // Golden index i is block i + 1.
      entry.alternatives.emplace_back().fill(static_cast<uint8_t>(i + 1));
      rim.golden.push_back(std::move(entry));
    }
    world.endorsements.rims.push_back(OrDie(insecure_software::SignRim(
        insecure_software::RimText(rim, certificates), chain.leaf_key.get())));
  }
  // Pins the root that it makes.
  EvidenceSet evidence = world.MakeEvidence();
  return MakeSubject("nvidia gpu, synthetic", std::move(evidence), world.endorsements, world.policy,
                     world.expected, world.now);
}

}  // namespace

std::vector<Subject> SyntheticSubjects() {
  using attestation::intel::WorldKind;
  return {Snp(), Intel("tdx v4, synthetic", WorldKind::kTd10),
          Intel("tdx v5, synthetic", WorldKind::kTd15),
          Intel("sgx v3, synthetic", WorldKind::kSgx3), Gpu()};
}

}  // namespace caravan::bench
