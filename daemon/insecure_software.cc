// SPDX-License-Identifier: Apache-2.0
#include "daemon/insecure_software.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/composite.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_devices.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/insecure_software/insecure_td_attester.h"
#include "base/file.h"
#include "config/secret_file.h"

namespace caravan {
namespace {

using attestation::Attester;

constexpr size_t kMaxFile = 1 << 20;

absl::StatusOr<attestation::InsecureRoot> LoadRoot(const std::string& folder) {
  auto path = [&](absl::string_view name) { return absl::StrCat(folder, "/", name); };
  auto key =
      config::ReadSecretFile(path(attestation::kInsecureKeyFile), 1, crypto::SecretBytes::kMaxSize);
  if (!key.ok()) return key.status();
  auto chain = base::ReadFile(path(attestation::kInsecureChainFile), kMaxFile);
  if (!chain.ok()) return chain.status();
  auto crl = base::ReadFile(path(attestation::kInsecureCrlFile), kMaxFile);
  if (!crl.ok()) return crl.status();
  auto root = attestation::InsecureRoot::FromPem(key->Expose(), *chain, *crl);
  if (!root.ok()) {
    return absl::Status(root.status().code(), absl::StrCat(folder, ": ", root.status().message()));
  }
  return root;
}

absl::StatusOr<std::unique_ptr<Attester>> MakeCpu(const v1::Config& config,
                                                  const attestation::InsecureRoot& root,
                                                  const crypto::Sha384Digest& measurement,
                                                  absl::Time now) {
  if (config.attester().insecure_software().format() == v1::InsecureSoftwareConfig::TDX) {
    attestation::InsecureTdOptions options;
    options.measurement = measurement;
    options.ppid = attestation::DeriveInsecurePpid(config.node_name());
    return attestation::MakeInsecureTdAttester(root, options, now);
  }
  attestation::InsecureAttesterOptions options;
  options.measurement = measurement;
  options.chip_id = attestation::DeriveInsecureChipId(config.node_name());
  return attestation::MakeInsecureAttester(root, options, now);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Attester>> LoadInsecureSoftware(
    const v1::Config& config, const crypto::Sha384Digest& measurement, absl::Time now,
    attestation::Endorsements* endorsements) {
  const v1::InsecureSoftwareConfig& insecure = config.attester().insecure_software();
  auto root = LoadRoot(insecure.root_directory());
  if (!root.ok()) return root.status();
  auto own = root->MakeEndorsements(now);
  if (!own.ok()) return own.status();
  const auto append = [](std::vector<std::string>& from, std::vector<std::string>* to) {
    for (std::string& bytes : from) to->push_back(std::move(bytes));
  };
  append(own->certificates, &endorsements->certificates);
  append(own->crls, &endorsements->crls);
  append(own->documents, &endorsements->documents);
  auto cpu = MakeCpu(config, *root, measurement, now);
  if (!cpu.ok() || (insecure.gpus() == 0 && insecure.switches() == 0)) return cpu;
  auto devices = attestation::MakeInsecureDevices(
      *root,
      {.node_name = config.node_name(), .gpus = insecure.gpus(), .switches = insecure.switches()},
      now);
  if (!devices.ok()) return devices.status();
  return attestation::MakeCompositeAttester(*std::move(cpu), *std::move(devices));
}

}  // namespace caravan
