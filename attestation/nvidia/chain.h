// SPDX-License-Identifier: Apache-2.0
//
// A device's certificate chain: leaf (its firmware's key), device CA, provisioner, identity, and
// NVIDIA's root, pinned by its key; at a given time.
#ifndef CARAVAN_ATTESTATION_NVIDIA_CHAIN_H_
#define CARAVAN_ATTESTATION_NVIDIA_CHAIN_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/nvidia/device_certificate.h"
#include "attestation/nvidia/report.h"
#include "attestation/policy/policy.h"
#include "attestation/x509.h"

namespace caravan::attestation::nvidia {

inline constexpr size_t kChainLength = 5;

struct Chain {
  std::optional<Certificate> leaf;  // as found; proves nothing unless `verified`
  absl::Status signature = absl::NotFoundError("no certificate");  // the leaf's, of the report
  std::vector<Certificate> certificates;  // leaf to root when `verified`, else empty
  std::optional<Chip> chip;               // by the leaf's name
  std::optional<Pdi> pdi;                 // by the device CA's name
  bool verified = false;                  // signatures up to a root that is pinned
  bool insecure = false;                  // that root is a software stand-in's
};

// Finds the certificates among the evidence's and the endorsements'. The leaf is the one whose key
// signed the report, or else the first at hand. Each finding becomes a check.
Chain CheckChain(const Report& report, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, CheckList* checks);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_CHAIN_H_
