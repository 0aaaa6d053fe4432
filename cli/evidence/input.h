// SPDX-License-Identifier: Apache-2.0
//
// Evidence from files, as verify and evidence show take it.
#ifndef CARAVAN_CLI_EVIDENCE_INPUT_H_
#define CARAVAN_CLI_EVIDENCE_INPUT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"

namespace caravan::cli {

// --kind: auto (nullopt), snp, tdx, sgx, nvidia, tpm; InvalidArgument for anything else.
absl::StatusOr<std::optional<attestation::EvidenceKind>> ParseEvidenceKind(const std::string& name);

// Reads one file, or a folder of one machine's evidence. Every error names the file;
// InvalidArgument when it holds none.
absl::StatusOr<attestation::EvidenceSet> ReadEvidence(
    const std::string& path, std::optional<attestation::EvidenceKind> kind);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EVIDENCE_INPUT_H_
