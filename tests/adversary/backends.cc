// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/backends.h"

#include "absl/strings/escaping.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "daemon/session/session_testing.h"

namespace caravan::session {
namespace {

std::string Hex(absl::Span<const uint8_t> bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Backend MakeInsecureSoftware() {
  Backend backend;
  backend.now = absl::FromUnixSeconds(1800000000);
  const attestation::InsecureRoot root = std::move(*attestation::InsecureRoot::Create(backend.now));
  attestation::InsecureAttesterOptions options;
  options.measurement.fill(0x4D);
  options.chip_id = attestation::DeriveInsecureChipId("node");
  backend.attester = std::move(*attestation::MakeInsecureAttester(root, options, backend.now));

  attestation::Policy policy;
  policy.set_name("adversary");
  policy.set_allow_insecure(true);
  policy.add_insecure_root_spki_sha256(Hex(root.SpkiSha256()));
  auto* measurement = policy.mutable_snp()->add_measurements();
  measurement->set_name("caravand");
  measurement->set_sha384(Hex(options.measurement));
  policy.mutable_snp()->set_any_platform(true);
  policy.mutable_snp()->set_any_tcb(true);
  policy.mutable_snp()->set_allow_smt(true);
  attestation::Endorsements endorsements;
  endorsements.certificates = root.ChainDer();
  endorsements.crls = {root.CrlDer()};
  backend.appraiser =
      std::move(*attestation::MakeAppraiser(std::move(policy), std::move(endorsements)));
  backend.report_data_check = "SNP_REPORT_DATA";
  return backend;
}

}  // namespace

Backend MakeBackend(BackendKind kind) {
  if (kind == BackendKind::kInsecureSoftware) return MakeInsecureSoftware();
  return Backend{std::make_unique<FakeAttester>(), std::make_unique<FakeAppraiser>(),
                 absl::UnixEpoch(), kFakeReportDataCheck};
}

std::string Name(BackendKind kind) {
  return kind == BackendKind::kFake ? "Fake" : "InsecureSoftware";
}

}  // namespace caravan::session
