// SPDX-License-Identifier: Apache-2.0
//
// Devices, their chains, a policy and reports that pass, each part of which a test may spoil before
// Appraise().
#ifndef CARAVAN_ATTESTATION_NVIDIA_TEST_WORLD_H_
#define CARAVAN_ATTESTATION_NVIDIA_TEST_WORLD_H_

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/known_signatures.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {

struct TestDevice {
  using TextEdit = std::function<void(std::string*)>;

  DeviceClass device_class = DeviceClass::kGpu;
  std::string pdi;
  EvpPkeyPtr leaf_key, ca_key;
  EVP_PKEY* report_key = nullptr;  // the leaf's
  std::array<insecure_software::CertificateSpec, 5> chain;
  insecure_software::DeviceReportSpec report;
  TextEdit edit_report = [](std::string*) {};         // not signed yet
  TextEdit edit_signed_report = [](std::string*) {};  // with the signature
  std::function<void(std::vector<std::string>*)> edit_certificates = [](auto*) {};

  std::string& Opaque(uint16_t type) { return insecure_software::OpaqueValue(&report, type); }
  void DropOpaque(uint16_t type);
  insecure_software::CertificateSpec& leaf() { return chain[0]; }
  insecure_software::CertificateSpec& device_ca() { return chain[1]; }
  insecure_software::CertificateSpec& provisioner() { return chain[2]; }
  insecure_software::CertificateSpec& identity() { return chain[3]; }
  insecure_software::CertificateSpec& root() { return chain[4]; }
};

// Begins with one device. Measurements are any's; a world with manifests is in rim_world.h.
class TestWorld {
 public:
  explicit TestWorld(const std::string& chip = "GH100");

  // Another device of the same world: "GH100", "GB100" or "LS_10".
  TestDevice& Add(const std::string& chip);
  // Links every GPU to every switch and puts them into protected PCIe.
  void Link();
  // A machine of GPUs and switches, linked.
  static TestWorld Machine(int gpus, int switches);

  // Signs and assembles everything as it stands now.
  EvidenceSet MakeEvidence();
  Appraisal Appraise();

  // The outcome of the check, the worst where it stands more than once, or "absent".
  static std::string OutcomeOf(const Appraisal& appraisal, std::string_view id);
  static std::string Explain(const Appraisal& appraisal);
  // Expects that the world is refused, and by the check `id` before any other.
  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated);
  void ExpectAccepted();

  TestDevice& device(size_t i = 0) { return *devices_[i]; }
  size_t size() const { return devices_.size(); }
  v1::NvidiaPolicy& nvidia() { return *policy.mutable_nvidia(); }
  void Pin(const std::string& der);

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);  // 2026-05-28
  EvpPkeyPtr provisioner_key = *insecure_software::MakeP384Key();
  EvpPkeyPtr identity_key = *insecure_software::MakeP384Key();
  EvpPkeyPtr root_key = *insecure_software::MakeP384Key();
  bool pin_root = true;
  DeviceNonce nonce;
  ReportDataExpectation expected = ReportDataExpectation::NotChecked();
  Policy policy;
  Endorsements endorsements;
  std::function<void(EvidenceSet*)> edit_evidence = [](auto*) {};

 private:
  void MakePolicy(const std::string& chip);

  std::vector<std::unique_ptr<TestDevice>> devices_;
  // What held before must not help what differs.
  const std::shared_ptr<KnownSignatures> known_ = std::make_shared<KnownSignatures>();
};

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_TEST_WORLD_H_
