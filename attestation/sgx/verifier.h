// SPDX-License-Identifier: Apache-2.0
//
// The SGX verifier: quote, chain, collateral, freshness and policy, each finding a check of its
// own.
#ifndef CARAVAN_ATTESTATION_SGX_VERIFIER_H_
#define CARAVAN_ATTESTATION_SGX_VERIFIER_H_

#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::sgx {

// Appends the checks of one kSgx item and its claims; the caller concludes the verdict.
// `policy` has passed ValidatePolicy.
void Verify(const Evidence& evidence, const Endorsements& endorsements, const Policy& policy,
            const ReportDataExpectation& expected, absl::Time now, CheckList* checks);

}  // namespace caravan::attestation::sgx

#endif  // CARAVAN_ATTESTATION_SGX_VERIFIER_H_
