// SPDX-License-Identifier: Apache-2.0
//
// A policy's rules, applied to a TD report.
#ifndef CARAVAN_ATTESTATION_TDX_RULES_H_
#define CARAVAN_ATTESTATION_TDX_RULES_H_

#include <optional>

#include "attestation/intel/collateral.h"
#include "attestation/intel/findings.h"
#include "attestation/policy/policy.h"
#include "attestation/tdx/td_report.h"

namespace caravan::attestation::tdx {

// The TDX module: its signer and attributes as Intel gives them, the policy's list and floor.
void CheckModule(const TdReport& report, const std::optional<intel::TcbInfo>& info,
                 const v1::TdxPolicy& policy, intel::Findings* findings);
// TDATTRIBUTES and XFAM.
void CheckAttributes(const TdReport& report, const v1::TdxPolicy& policy,
                     intel::Findings* findings);
// MRTD and RTMRs, and the registers that host and owner chose.
void CheckIdentity(const TdReport& report, const v1::TdxPolicy& policy, intel::Findings* findings);

}  // namespace caravan::attestation::tdx

#endif  // CARAVAN_ATTESTATION_TDX_RULES_H_
