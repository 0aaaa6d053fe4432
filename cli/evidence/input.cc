// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/input.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/verify_input.h"
#include "base/file.h"

namespace caravan::cli {

using attestation::EvidenceKind;
using attestation::EvidenceSet;

namespace {

constexpr size_t kMaxParts = 64;  // files in a folder of evidence

}  // namespace

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

absl::StatusOr<EvidenceSet> ReadEvidence(const std::string& path,
                                         std::optional<EvidenceKind> kind) {
  absl::StatusOr<std::vector<std::string>> paths = base::ListFiles(path);
  if (!paths.ok()) return paths.status();
  if (paths->size() > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", paths->size(), " files, at most ", kMaxParts));
  }
  std::map<std::string, std::string> files;
  for (const std::string& file : *paths) {
    absl::StatusOr<std::string> bytes = base::ReadFile(file, attestation::kMaxInputSize);
    if (!bytes.ok()) return bytes.status();
    files[file.substr(file.rfind('/') + 1)] = *std::move(bytes);
  }
  const bool is_file = paths->size() == 1 && paths->front() == path;
  absl::StatusOr<EvidenceSet> set = is_file
                                        ? attestation::DetectEvidence(files.begin()->second, kind)
                                        : attestation::DetectEvidenceFiles(files, kind);
  if (set.ok()) return set;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", set.status().message()));
}

}  // namespace caravan::cli
