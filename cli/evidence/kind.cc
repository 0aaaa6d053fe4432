// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/kind.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::cli {

using attestation::EvidenceKind;

absl::StatusOr<std::optional<EvidenceKind>> ParseEvidenceKind(const std::string& name) {
  const std::pair<const char*, std::optional<EvidenceKind>> kinds[] = {
      {"auto", std::nullopt},      {"snp", EvidenceKind::kSevSnp},    {"tdx", EvidenceKind::kTdx},
      {"sgx", EvidenceKind::kSgx}, {"nvidia", EvidenceKind::kNvidia}, {"tpm", EvidenceKind::kVtpm},
  };
  for (const auto& [known, kind] : kinds) {
    if (name == known) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--kind is \"", name, "\", expected auto, snp, tdx, sgx, nvidia or tpm"));
}

}  // namespace caravan::cli
