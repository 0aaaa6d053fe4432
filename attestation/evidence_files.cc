// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attestation/device_list_input.h"
#include "attestation/tpm/input.h"
#include "attestation/verify_input.h"

namespace caravan::attestation {
namespace {

// Bytes of a file of certificates: as many as evidence may have, in PEM.
constexpr size_t kMaxChainFile = 2 * kMaxCertificates * kMaxCertificateSize;

struct Part {
  std::string file;
  Evidence item;
};

using Chains = std::map<std::string, std::vector<std::string>>;  // by file

absl::Status InFile(const std::string& file, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", problem));
}

// Certificates alone, in PEM, DER or a certificate table; nullopt for every other file.
std::optional<std::vector<std::string>> CertificatesIn(const std::string& bytes) {
  if (bytes.size() > kMaxChainFile) return std::nullopt;
  Endorsements found;
  if (!ParseEndorsements(bytes, &found).ok() || found.certificates.empty()) return std::nullopt;
  if (!found.crls.empty() || !found.documents.empty() || !found.rims.empty()) return std::nullopt;
  return std::move(found.certificates);
}

// The evidence that certificates in `file` belong to: what they are named after, the longest name
// first, or all there is. Null for a file that holds several.
Part* OwnerOf(const std::string& file, std::vector<Part>* parts) {
  if (parts->size() == 1) return &parts->front();
  Part* owner = nullptr;
  bool several = false;
  for (Part& part : *parts) {
    if (!absl::StartsWith(file, part.file + ".")) continue;
    if (owner != nullptr && part.file.size() < owner->file.size()) continue;
    several = owner != nullptr && part.file == owner->file;
    owner = &part;
  }
  return several ? nullptr : owner;
}

// What one machine has: a CPU, devices.
absl::Status CheckOneMachine(const std::vector<Part>& parts) {
  const Part* cpu = nullptr;
  size_t devices = 0;
  for (const Part& part : parts) {
    if (part.item.kind == EvidenceKind::kNvidia) {
      if (++devices <= kMaxListedDevices) continue;
      return InFile(part.file, absl::StrCat("over ", kMaxListedDevices, " devices in one folder"));
    }
    if (cpu != nullptr) {
      return InFile(part.file, absl::StrCat("a CPU's evidence, as ", cpu->file,
                                            " is; give one machine's at a time"));
    }
    cpu = &part;
  }
  return absl::OkStatus();
}

// Keeps those attributes of a configfs-tsm report that hold evidence (Linux,
// Documentation/ABI/testing/configfs-tsm-report); auxblob may be empty.
std::map<std::string, std::string> TsmFiles(const std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> kept = {{"outblob", files.at("outblob")}};
  const auto table = files.find("auxblob");
  if (table != files.end() && !table->second.empty()) kept.insert(*table);
  return kept;
}

// Adds each file's certificates to the evidence that they belong to.
absl::Status GiveChains(Chains chains, std::vector<Part>* parts) {
  for (auto& [file, chain] : chains) {
    Part* const owner = OwnerOf(file, parts);
    if (owner == nullptr) {
      return InFile(file, absl::StrCat("certificates of none of ", parts->size(),
                                       " pieces of evidence; name them after one, as in ",
                                       parts->front().file, ".pem"));
    }
    std::vector<std::string>& certificates = owner->item.certificates;
    if (certificates.size() + chain.size() > kMaxCertificates) {
      return InFile(file, absl::StrCat("over ", kMaxCertificates, " certificates of one report"));
    }
    for (std::string& der : chain) certificates.push_back(std::move(der));
  }
  return absl::OkStatus();
}

absl::StatusOr<EvidenceSet> ReadParts(const std::map<std::string, std::string>& files,
                                      std::optional<EvidenceKind> kind) {
  std::vector<Part> parts;
  Chains chains;
  for (const auto& [file, bytes] : files) {
    // First as evidence: quotes hold certificates.
    absl::StatusOr<EvidenceSet> set = DetectEvidence(bytes);
    if (!set.ok()) {
      if (auto certificates = CertificatesIn(bytes); certificates.has_value()) {
        chains[file] = *std::move(certificates);
        continue;
      }
    }
    if (kind.has_value()) set = DetectEvidence(bytes, kind);
    if (!set.ok()) return InFile(file, set.status().message());
    for (Evidence& item : set->items) parts.push_back({file, std::move(item)});
    if (absl::Status one = CheckOneMachine(parts); !one.ok()) return one;
  }
  if (parts.empty()) {
    return absl::InvalidArgumentError("evidence: a folder without a report or quote");
  }
  if (absl::Status given = GiveChains(std::move(chains), &parts); !given.ok()) return given;
  std::stable_partition(parts.begin(), parts.end(),
                        [](const Part& part) { return part.item.kind != EvidenceKind::kNvidia; });
  EvidenceSet set;
  for (Part& part : parts) set.items.push_back(std::move(part.item));
  return set;
}

}  // namespace

absl::StatusOr<EvidenceSet> DetectEvidenceFiles(const std::map<std::string, std::string>& files,
                                                std::optional<EvidenceKind> kind) {
  const bool vtpm = kind.has_value() ? *kind == EvidenceKind::kVtpm : tpm::LooksLikeVtpm(files);
  if (!vtpm) return ReadParts(files.contains("outblob") ? TsmFiles(files) : files, kind);
  absl::StatusOr<Evidence> item = tpm::FromFiles(files);
  if (!item.ok()) return item.status();
  return EvidenceSet{{*std::move(item)}};
}

}  // namespace caravan::attestation
