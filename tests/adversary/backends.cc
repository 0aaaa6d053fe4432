// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/backends.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "attestation/composite.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_devices.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/insecure_software/insecure_td_attester.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "daemon/session/session_testing.h"

namespace caravan::session {
namespace {

constexpr uint32_t kGpus = 2, kSwitches = 1;

std::string Hex(absl::Span<const uint8_t> bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

attestation::Policy MakePolicy(const attestation::InsecureRoot& root,
                               const crypto::Sha384Digest& measurement, BackendKind kind) {
  attestation::Policy policy;
  policy.set_name("adversary");
  policy.set_allow_insecure(true);
  policy.add_insecure_root_spki_sha256(Hex(root.SpkiSha256()));
  policy.add_insecure_root_spki_sha256(Hex(root.intel()->SpkiSha256()));
  if (kind == BackendKind::kInsecureTdx) {
    auto* td = policy.mutable_tdx()->add_measurements();
    td->set_name("caravand");
    td->set_mrtd(Hex(measurement));
    policy.mutable_tdx()->mutable_platform()->set_any_platform(true);
    policy.mutable_tdx()->mutable_platform()->set_min_tcb_evaluation_number(1);
    return policy;
  }
  auto* guest = policy.mutable_snp()->add_measurements();
  guest->set_name("caravand");
  guest->set_sha384(Hex(measurement));
  policy.mutable_snp()->set_any_platform(true);
  policy.mutable_snp()->set_any_tcb(true);
  policy.mutable_snp()->set_allow_smt(true);
  if (kind != BackendKind::kComposite) return policy;
  v1::NvidiaPolicy* devices = policy.mutable_nvidia();
  devices->set_any_device(true);
  devices->set_any_firmware(true);
  devices->set_any_measurement(true);
  devices->set_allow_missing_fwid(true);
  devices->add_modes(v1::NVIDIA_PPCIE);
  policy.mutable_composite()->set_gpus(kGpus);
  policy.mutable_composite()->set_switches(kSwitches);
  return policy;
}

std::unique_ptr<attestation::Attester> MakeAttester(const attestation::InsecureRoot& root,
                                                    const crypto::Sha384Digest& measurement,
                                                    BackendKind kind, absl::Time now) {
  if (kind == BackendKind::kInsecureTdx) {
    attestation::InsecureTdOptions options;
    options.measurement = measurement;
    options.ppid = attestation::DeriveInsecurePpid("node");
    return std::move(*attestation::MakeInsecureTdAttester(root, options, now));
  }
  attestation::InsecureAttesterOptions options;
  options.measurement = measurement;
  options.chip_id = attestation::DeriveInsecureChipId("node");
  auto cpu = std::move(*attestation::MakeInsecureAttester(root, options, now));
  if (kind != BackendKind::kComposite) return cpu;
  return attestation::MakeCompositeAttester(
      std::move(cpu), std::move(*attestation::MakeInsecureDevices(
                          root, {.node_name = "node", .gpus = kGpus, .switches = kSwitches}, now)));
}

Backend MakeInsecureSoftware(BackendKind kind) {
  Backend backend;
  backend.now = absl::FromUnixSeconds(1800000000);
  const attestation::InsecureRoot root = std::move(*attestation::InsecureRoot::Create(backend.now));
  crypto::Sha384Digest measurement;
  measurement.fill(0x4D);
  backend.attester = MakeAttester(root, measurement, kind, backend.now);
  backend.appraiser = std::move(*attestation::MakeAppraiser(MakePolicy(root, measurement, kind),
                                                            *root.MakeEndorsements(backend.now)));
  backend.report_data_check =
      kind == BackendKind::kInsecureTdx ? "TDX_REPORT_DATA" : "SNP_REPORT_DATA";
  return backend;
}

}  // namespace

Backend MakeBackend(BackendKind kind) {
  if (kind != BackendKind::kFake) return MakeInsecureSoftware(kind);
  return Backend{std::make_unique<FakeAttester>(), std::make_unique<FakeAppraiser>(),
                 absl::UnixEpoch(), kFakeReportDataCheck};
}

std::string Name(BackendKind kind) {
  switch (kind) {
    case BackendKind::kFake:
      return "Fake";
    case BackendKind::kInsecureSoftware:
      return "InsecureSoftware";
    case BackendKind::kInsecureTdx:
      return "InsecureTdx";
    case BackendKind::kComposite:
      return "Composite";
  }
  return "Unknown";
}

}  // namespace caravan::session
