// SPDX-License-Identifier: Apache-2.0
//
// A policy's rules about machine and TCB, the same for TDX and SGX.
#ifndef CARAVAN_ATTESTATION_INTEL_PLATFORM_RULES_H_
#define CARAVAN_ATTESTATION_INTEL_PLATFORM_RULES_H_

#include "absl/time/time.h"
#include "attestation/intel/documents.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/tcb_evaluation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::intel {

// FMSPC and PPID; the certificate's claims about the machine.
void CheckPlatform(const Pck& pck, const v1::IntelPlatformPolicy& policy, Findings* findings);

// Where the platform stands and whether the policy takes that. Without TCB info or identity the
// check is missing.
void CheckTcb(const PlatformTcb& platform, const Documents& documents,
              const v1::IntelPlatformPolicy& policy, absl::Time now, Findings* findings);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_PLATFORM_RULES_H_
