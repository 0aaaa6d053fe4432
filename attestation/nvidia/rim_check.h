// SPDX-License-Identifier: Apache-2.0
//
// Finds, among all manifests at hand, the one of a device's firmware, and checks its signature, its
// signer and its time.
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_CHECK_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/nvidia/rim.h"
#include "attestation/policy/policy.h"
#include "attestation/x509.h"

namespace caravan::attestation::nvidia {

struct RimRequest {
  std::string id;  // of the checks: "NVIDIA_DRIVER_RIM" gives NVIDIA_DRIVER_RIM_SIGNATURE
  RimKind kind = RimKind::kDriver;
  std::string product;  // "GH100"
  std::string version;  // as Rim::version, in either case
  std::string rim_id;   // for the hint: what to fetch (rim_id.h)
};

struct VerifiedRim {
  Rim rim;
  std::vector<Certificate> chain;  // leaf, two CAs, root
  bool insecure = false;           // the root is a software stand-in's, which the policy pins
};

// Chooses among endorsements.rims by what the signed bytes say; of several, the first that passes.
// Each finding becomes a check: <id>, _SIGNATURE, _CHAIN, _ROOT, _ROOT_INSECURE, _INSECURE, _ROLE,
// _CONSTRAINTS, _VALIDITY. Nothing unless every one passed. Revocation of `chain` is the caller's
// (attestation/ocsp.h). CAs of `endorsements.certificates` complete a chain that the document does
// not hold whole; a root is believed by its key alone, wherever it comes from.
std::optional<VerifiedRim> FindRim(const RimRequest& request, const Endorsements& endorsements,
                                   const Policy& policy, absl::Time now, CheckList* checks);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_CHECK_H_
