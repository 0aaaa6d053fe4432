// SPDX-License-Identifier: Apache-2.0
//
// The steps of tpm/verifier.h.
#ifndef CARAVAN_ATTESTATION_TPM_RULES_H_
#define CARAVAN_ATTESTATION_TPM_RULES_H_

#include <string_view>

#include "attestation/check_list.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"

namespace caravan::attestation::tpm {

// That a TD quote quotes this TD report, whose own MAC only its machine can check: every field that
// both have is the same.
void CheckTdReport(std::string_view td_report, std::string_view td_quote, CheckList* checks);

// The quote: its form, the AK's signature and attributes, the nonce, the registers.
void CheckQuote(const VtpmEvidence& evidence, const RuntimeClaims& claims,
                const v1::VtpmPolicy& policy, const ReportDataExpectation& expected,
                CheckList* checks);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_RULES_H_
