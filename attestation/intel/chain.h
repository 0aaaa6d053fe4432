// SPDX-License-Identifier: Apache-2.0
//
// Intel's certificates: PCK ← PCK CA ← root, and TCB signing ← root, up to a pinned root key at a
// given time. Source: Intel "SGX PCK Certificate and CRL Profile Specification".
#ifndef CARAVAN_ATTESTATION_INTEL_CHAIN_H_
#define CARAVAN_ATTESTATION_INTEL_CHAIN_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "attestation/evidence.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/quote.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::intel {

struct Chain {
  std::optional<Pck> pck;  // as found; proves nothing unless `root` is there
  // Set together, when signatures lead from the PCK to a pinned root.
  std::optional<Certificate> intermediate, root;
  bool insecure = false;  // that root is a software stand-in's
  // Certificates that may sign TCB info and identities: the root issued them for that.
  std::vector<Certificate> signers;
};

// Finds the certificates among the quote's, the evidence's and the endorsements', the PCK by the
// signature over the quoting enclave's report; each finding becomes a check.
Chain CheckChain(const Quote& quote, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, Findings* findings);

// Revocation of the PCK by its CA's list, of the PCK CA and of `signers`, the signers of what Intel
// says, by the root's. The chain has a root.
void CheckChainRevocation(const Chain& chain, const std::vector<Certificate>& signers,
                          const Endorsements& endorsements, bool waived, absl::Time now,
                          Findings* findings);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_CHAIN_H_
