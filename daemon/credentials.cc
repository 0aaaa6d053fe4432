// SPDX-License-Identifier: Apache-2.0
#include "daemon/credentials.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "daemon/ops/file.h"
#include "daemon/ops/secret_file.h"

namespace caravan {
namespace {

constexpr size_t kMaxExecutable = 1 << 30;
constexpr size_t kMaxEndorsement = 1 << 20;
constexpr size_t kMinPsk = 32;
constexpr size_t kMaxPsk = 1024;

absl::Status In(absl::string_view file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
}

absl::StatusOr<attestation::InsecureRoot> LoadInsecureRoot(const std::string& folder) {
  auto path = [&](absl::string_view name) { return absl::StrCat(folder, "/", name); };
  auto key =
      ops::ReadSecretFile(path(attestation::kInsecureKeyFile), 1, crypto::SecretBytes::kMaxSize);
  if (!key.ok()) return key.status();
  auto chain = ops::ReadFile(path(attestation::kInsecureChainFile), kMaxEndorsement);
  if (!chain.ok()) return chain.status();
  auto crl = ops::ReadFile(path(attestation::kInsecureCrlFile), kMaxEndorsement);
  if (!crl.ok()) return crl.status();
  auto root = attestation::InsecureRoot::FromPem(key->Expose(), *chain, *crl);
  if (!root.ok()) return In(folder, root.status());
  return root;
}

// The root's chain and revocation list serve for peers of the same cluster as well.
absl::Status UseInsecureSoftware(const v1::Config& config, absl::Time now,
                                 NodeCredentials* credentials,
                                 attestation::Endorsements* endorsements) {
  auto root = LoadInsecureRoot(config.attester().insecure_software().root_directory());
  if (!root.ok()) return root.status();
  attestation::InsecureAttesterOptions options;
  options.measurement = credentials->measurement;
  options.chip_id = attestation::DeriveInsecureChipId(config.node_name());
  auto attester = attestation::MakeInsecureAttester(*root, options, now);
  if (!attester.ok()) return attester.status();
  credentials->attester = *std::move(attester);
  credentials->insecure = true;
  for (std::string& der : root->ChainDer()) endorsements->certificates.push_back(std::move(der));
  endorsements->crls.push_back(root->CrlDer());
  return absl::OkStatus();
}

// What a folder of certificates holds beside them, a key or a note, is left alone.
bool LooksLikeEndorsement(const std::string& file) {
  for (absl::string_view end : {".pem", ".crt", ".cer", ".der", ".crl", ".json", ".xml", ".ocsp"}) {
    if (absl::EndsWith(file, end)) return true;
  }
  return false;
}

absl::Status AddEndorsements(const std::string& path, attestation::Endorsements* endorsements) {
  auto files = ops::ListFiles(path);
  if (!files.ok()) return files.status();
  for (const std::string& file : *files) {
    if (file != path && !LooksLikeEndorsement(file)) continue;
    auto bytes = ops::ReadFile(file, kMaxEndorsement);
    if (!bytes.ok()) return bytes.status();
    absl::Status status = attestation::ParseEndorsements(*bytes, endorsements);
    if (!status.ok()) return In(file, status);
  }
  return absl::OkStatus();
}

absl::Status LoadPolicy(const v1::Config& config, attestation::Endorsements endorsements,
                        NodeCredentials* credentials) {
  auto text = ops::ReadFile(config.policy_file(), attestation::kMaxPolicySize);
  if (!text.ok()) return text.status();
  auto policy = attestation::ParsePolicy(*text, config.policy_file());
  if (!policy.ok()) return policy.status();
  credentials->policy_label = attestation::PolicyLabel(*policy);
  auto appraiser = attestation::MakeAppraiser(*std::move(policy), std::move(endorsements));
  if (!appraiser.ok()) return In(config.policy_file(), appraiser.status());
  credentials->appraiser = *std::move(appraiser);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<crypto::Sha384Digest> MeasureSelf() {
  auto executable = ops::ReadFile("/proc/self/exe", kMaxExecutable);
  if (!executable.ok()) return executable.status();
  return crypto::Sha384(crypto::AsBytes(*executable));
}

absl::StatusOr<NodeCredentials> LoadCredentials(const v1::Config& config, absl::Time now) {
  NodeCredentials credentials;
  auto measurement = MeasureSelf();
  if (!measurement.ok()) return measurement.status();
  credentials.measurement = *measurement;

  attestation::Endorsements endorsements;
  for (const std::string& path : config.endorsement_paths()) {
    if (absl::Status status = AddEndorsements(path, &endorsements); !status.ok()) return status;
  }
  if (!config.attester().has_insecure_software()) {
    return absl::FailedPreconditionError(
        "attester: sev_snp is not available in this build; insecure_software { … } works on every "
        "machine, for trials");
  }
  absl::Status status = UseInsecureSoftware(config, now, &credentials, &endorsements);
  if (!status.ok()) return status;
  status = LoadPolicy(config, std::move(endorsements), &credentials);
  if (!status.ok()) return status;
  if (!config.psk_file().empty()) {
    auto psk = ops::ReadSecretFile(config.psk_file(), kMinPsk, kMaxPsk);
    if (!psk.ok()) return psk.status();
    credentials.psk = *std::move(psk);
  }
  return credentials;
}

}  // namespace caravan
