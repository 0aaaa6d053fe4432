// SPDX-License-Identifier: Apache-2.0
//
// Finds, among all of Intel's signed statements at hand, the two that speak of one quote's
// platform.
#ifndef CARAVAN_ATTESTATION_INTEL_DOCUMENTS_H_
#define CARAVAN_ATTESTATION_INTEL_DOCUMENTS_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "attestation/evidence.h"
#include "attestation/intel/chain.h"
#include "attestation/intel/collateral.h"
#include "attestation/intel/findings.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::intel {

// Only what a TCB signing certificate of the chain's root vouches for, byte for byte.
struct Documents {
  std::optional<TcbInfo> tcb_info;
  std::optional<EnclaveIdentity> identity;
  std::vector<Certificate> signers;  // whose signatures those are
};

// Chooses TCB info by kind of TEE, FMSPC and PCE id, and the identity by kind; of several that fit
// the one that holds now, with the highest evaluation number, the latest. Checks signature, time
// and evaluation number. The chain has a root.
Documents CheckDocuments(bool tdx, const Chain& chain, const Endorsements& endorsements,
                         const v1::IntelPlatformPolicy& policy, absl::Time now, Findings* findings);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_DOCUMENTS_H_
