// SPDX-License-Identifier: Apache-2.0
//
// What a policy asks of a report whose signature has been checked, in four groups.
#ifndef CARAVAN_ATTESTATION_SEV_SNP_RULES_H_
#define CARAVAN_ATTESTATION_SEV_SNP_RULES_H_

#include "attestation/check_list.h"
#include "attestation/policy/policy.h"
#include "attestation/sev_snp/leaf.h"
#include "attestation/sev_snp/report.h"

namespace caravan::attestation::sev_snp {

// Which key signed, for which chip: SIGNING_KEY, CHIP_ID, HWID, the platform allowlist.
void CheckPlatform(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
                   CheckList* checks);
// The four TCBs, how they relate, the certificate's, the floor, firmware and mitigations.
void CheckTcb(const Report& report, const Leaf& leaf, const v1::SnpPolicy& policy,
              CheckList* checks);
// GUEST_POLICY and PLATFORM_INFO, bit by bit.
void CheckGuestPolicy(const Report& report, const v1::SnpPolicy& policy, CheckList* checks);
// Measurement, VMPL, ids, host data and key digests.
void CheckIdentity(const Report& report, const v1::SnpPolicy& policy, CheckList* checks);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_RULES_H_
