// SPDX-License-Identifier: Apache-2.0
#include "cli/ear.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/version.h"
#include "config/secret_file.h"
#include "crypto/secret_bytes.h"

namespace caravan::cli {
namespace {

absl::StatusOr<attestation::JwsKey> ReadKey(const std::string& path) {
  auto pem = config::ReadSecretFile(path, 1, crypto::SecretBytes::kMaxSize);
  if (!pem.ok()) return pem.status();
  absl::StatusOr<attestation::JwsKey> key = attestation::JwsKey::FromPem(pem->Expose());
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", key.status().message()));
}

}  // namespace

absl::StatusOr<std::optional<EarSigner>> ReadEarSigner(const EarFlags& flags) {
  if (flags.key.empty()) {
    if (flags.nonce.empty()) return std::nullopt;
    return absl::InvalidArgumentError("--nonce is for a token: it wants --ear-key");
  }
  absl::StatusOr<attestation::JwsKey> key = ReadKey(flags.key);
  if (!key.ok()) return key.status();
  attestation::EarOptions options;
  if (flags.profile == "veraison") options.profile = attestation::EarProfile::kVeraison;
  options.build = absl::StrCat("caravanctl ", std::string(base::kVersion));
  const std::optional<std::string> nonce = base::FromHex(flags.nonce);
  if (!nonce.has_value()) return absl::InvalidArgumentError("--nonce is no hexadecimal text");
  if (absl::Status status = attestation::CheckEarNonce(*nonce); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--", status.message()));
  }
  options.nonce = *nonce;
  return std::optional<EarSigner>(EarSigner{*std::move(key), std::move(options)});
}

absl::StatusOr<std::string> MakeEar(const EarSigner& signer,
                                    const attestation::Appraisal& appraisal,
                                    const std::string& policy_label, absl::Time appraised,
                                    absl::Time issued) {
  attestation::EarOptions options = signer.options;
  options.policy_id = policy_label;
  options.appraised = appraised;
  options.issued = issued;
  return signer.key.Sign(attestation::EarClaims(appraisal, options));
}

}  // namespace caravan::cli
