// SPDX-License-Identifier: Apache-2.0
//
// --kind, as verify and evidence show take it.
#ifndef CARAVAN_CLI_EVIDENCE_KIND_H_
#define CARAVAN_CLI_EVIDENCE_KIND_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"

namespace caravan::cli {

// auto (nullopt), snp, tdx, sgx, nvidia, tpm; InvalidArgument for anything else.
absl::StatusOr<std::optional<attestation::EvidenceKind>> ParseEvidenceKind(const std::string& name);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EVIDENCE_KIND_H_
