// SPDX-License-Identifier: Apache-2.0
//
// From the PCK down to the quoted report: the quoting enclave's report and identity, the
// attestation key, the quote's signature.
#ifndef CARAVAN_ATTESTATION_INTEL_QUOTING_ENCLAVE_H_
#define CARAVAN_ATTESTATION_INTEL_QUOTING_ENCLAVE_H_

#include <optional>

#include "attestation/intel/collateral.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/quote.h"

namespace caravan::attestation::intel {

// The PCK signed the quoting enclave's report, that report binds the attestation key, and that key
// signed the quote's raw bytes. Without a PCK what needs it is missing.
void CheckSignatures(const Quote& quote, const std::optional<Pck>& pck, Findings* findings);

// The quoting enclave is the one that Intel describes, and runs without debug.
void CheckQuotingEnclave(const Quote& quote, const std::optional<EnclaveIdentity>& identity,
                         Findings* findings);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_QUOTING_ENCLAVE_H_
