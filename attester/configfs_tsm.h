// SPDX-License-Identifier: Apache-2.0
//
// Evidence through the kernel's configfs-tsm: SEV-SNP reports with the host's certificates, and TDX
// quotes. Needs Linux 6.7 or later with configfs mounted and the guest driver loaded.
#ifndef CARAVAN_ATTESTER_CONFIGFS_TSM_H_
#define CARAVAN_ATTESTER_CONFIGFS_TSM_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "attestation/attester.h"
#include "attestation/evidence.h"
#include "attester/tsm_tree.h"

namespace caravan::attester {

struct ConfigfsTsmOptions {
  // Evidence of another kind is refused; nullopt: whatever the machine has.
  std::optional<attestation::EvidenceKind> kind = std::nullopt;
  // SEV-SNP alone: the VMPL of the report, 0 to 3; nullopt: the lowest that the kernel allows.
  std::optional<uint32_t> vmpl = std::nullopt;
};

// Makes an entry once to learn the provider, and removes it. NotFound: no such folder, or no
// provider in it. FailedPrecondition: a provider of another kind, or one that nobody here knows.
// PermissionDenied, and the errors of Collect.
//
// Collect: an entry of its own for each call, always removed. Unavailable: the TEE or its host is
// busy or did not answer in time. Aborted: another process wrote to the entry, three times over.
// FailedPrecondition: the TEE refuses (its key is disabled, the VMPL is not ours to ask for).
// DataLoss: a report that is empty, oversized, or holds other report data. Internal: the rest, with
// the system's error.
absl::StatusOr<std::unique_ptr<attestation::Attester>> MakeConfigfsTsmAttester(
    std::unique_ptr<TsmTree> tree, const ConfigfsTsmOptions& options);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_CONFIGFS_TSM_H_
