// SPDX-License-Identifier: Apache-2.0
//
// What TDX and SGX quotes are checked for alike: form, chain, collateral, signatures, machine.
#ifndef CARAVAN_ATTESTATION_INTEL_VERIFIER_H_
#define CARAVAN_ATTESTATION_INTEL_VERIFIER_H_

#include <optional>

#include "absl/time/time.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/intel/chain.h"
#include "attestation/intel/documents.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/quote.h"
#include "attestation/intel/tcb_evaluation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::intel {

// What is left to check depends on the kind of TEE.
struct CheckedQuote {
  Quote quote;  // views into the evidence
  Chain chain;
  Documents documents;  // empty when the chain has no root
};

// nullopt, a check saying why, when the evidence is no quote of `tee_type`.
std::optional<CheckedQuote> CheckQuote(uint32_t tee_type, const Evidence& evidence,
                                       const Endorsements& endorsements, const Policy& policy,
                                       const v1::IntelPlatformPolicy& platform, absl::Time now,
                                       Findings* findings);

// All 64 bytes, in constant time.
void CheckReportData(std::string_view report_data, const ReportDataExpectation& expected,
                     Findings* findings);

// What quote and PCK certificate say of the platform's TCB, without TDX's part of it.
PlatformTcb PlatformTcbOf(const CheckedQuote& checked);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_VERIFIER_H_
