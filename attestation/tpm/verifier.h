// SPDX-License-Identifier: Apache-2.0
//
// A vTPM of an Azure confidential VM: hardware report, runtime claims, attestation key, quote.
#ifndef CARAVAN_ATTESTATION_TPM_VERIFIER_H_
#define CARAVAN_ATTESTATION_TPM_VERIFIER_H_

#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::tpm {

// Adds checks VTPM_…, and SNP_… or TDX_… of the hardware report inside, which the rules of
// vtpm.snp or vtpm.tdx apply to. Freshness is the quote's alone: its extra data has to be
// TpmNonce(expected). Claims and platform are set as far as the evidence could be read.
void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_VERIFIER_H_
