// SPDX-License-Identifier: Apache-2.0
#include "daemon/credentials.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "attestation/composite.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "attester/configfs_tsm.h"
#include "attester/machine.h"
#include "attester/nvml.h"
#include "base/file.h"
#include "config/secret_file.h"
#include "daemon/insecure_software.h"

namespace caravan {
namespace {

constexpr size_t kMaxExecutable = 1 << 30;
constexpr size_t kMaxEndorsement = 1 << 20;
constexpr size_t kMinPsk = 32;
constexpr size_t kMaxPsk = 1024;

absl::Status In(absl::string_view file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
}

absl::Status UseInsecureSoftware(const v1::Config& config, absl::Time now,
                                 NodeCredentials* credentials,
                                 attestation::Endorsements* endorsements) {
  auto attester = LoadInsecureSoftware(config, credentials->measurement, now, endorsements);
  if (!attester.ok()) return attester.status();
  credentials->attester = *std::move(attester);
  credentials->insecure = true;
  return absl::OkStatus();
}

// Opens what the kernel offers on this machine; a machine without it says which part is missing.
absl::Status UseTee(const v1::AttesterConfig& config, NodeCredentials* credentials) {
  const auto vmpl = [](const auto& message) {
    return message.has_vmpl() ? std::optional<uint32_t>(message.vmpl()) : std::nullopt;
  };
  attester::AttesterOr made = absl::InvalidArgumentError("no kind is set");
  const char* kind = "";
  if (config.has_sev_snp()) {
    kind = "sev_snp";
    made = attester::MakeSevSnpAttester({}, vmpl(config.sev_snp()));
  } else if (config.has_tdx()) {
    kind = "tdx";
    made = attester::MakeTdxAttester({}, config.tdx().quote_service_port());
  } else if (config.has_configfs_tsm()) {
    kind = "configfs_tsm";
    made = attester::MakeConfigfsTsmAttester(attester::MakeTsmTree(config.configfs_tsm().path()),
                                             {.vmpl = vmpl(config.configfs_tsm())});
  }
  if (!made.ok()) {
    return absl::Status(
        made.status().code(),
        absl::StrCat("attester: ", kind, ": ", made.status().message(),
                     "; insecure_software { … } works on every machine, for trials"));
  }
  credentials->attester = *std::move(made);
  return absl::OkStatus();
}

absl::Status UseGpus(const v1::NvidiaGpusConfig& config, NodeCredentials* credentials) {
  auto made = attester::MakeNvmlAttester(
      {.library = config.library(), .indices = {config.indices().begin(), config.indices().end()}});
  if (!made.ok()) return In("attester: nvidia_gpus", made.status());
  credentials->attester =
      attestation::MakeCompositeAttester(std::move(credentials->attester), *std::move(made));
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
  auto files = base::ListFiles(path);
  if (!files.ok()) return files.status();
  for (const std::string& file : *files) {
    if (file != path && !LooksLikeEndorsement(file)) continue;
    auto bytes = base::ReadFile(file, kMaxEndorsement);
    if (!bytes.ok()) return bytes.status();
    absl::Status status = attestation::ParseEndorsements(*bytes, endorsements);
    if (!status.ok()) return In(file, status);
  }
  return absl::OkStatus();
}

absl::Status LoadPolicy(const v1::Config& config, attestation::Endorsements endorsements,
                        NodeCredentials* credentials) {
  auto text = base::ReadFile(config.policy_file(), attestation::kMaxPolicySize);
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
  auto executable = base::ReadFile("/proc/self/exe", kMaxExecutable);
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
  absl::Status status = config.attester().has_insecure_software()
                            ? UseInsecureSoftware(config, now, &credentials, &endorsements)
                            : UseTee(config.attester(), &credentials);
  if (!status.ok()) return status;
  if (config.attester().has_nvidia_gpus()) {
    status = UseGpus(config.attester().nvidia_gpus(), &credentials);
    if (!status.ok()) return status;
  }
  status = LoadPolicy(config, std::move(endorsements), &credentials);
  if (!status.ok()) return status;
  if (!config.psk_file().empty()) {
    auto psk = config::ReadSecretFile(config.psk_file(), kMinPsk, kMaxPsk);
    if (!psk.ok()) return psk.status();
    credentials.psk = *std::move(psk);
  }
  return credentials;
}

}  // namespace caravan
