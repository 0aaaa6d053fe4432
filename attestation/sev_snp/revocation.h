// SPDX-License-Identifier: Apache-2.0
//
// Revocation by the root's list. "No fresh list at hand" is missing, not passed.
#ifndef CARAVAN_ATTESTATION_SEV_SNP_REVOCATION_H_
#define CARAVAN_ATTESTATION_SEV_SNP_REVOCATION_H_

#include <initializer_list>

#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/x509.h"

namespace caravan::attestation::sev_snp {

// Checks `certificates` against every list in the endorsements that `root` signed. With `waived`
// the policy does without a fresh list; a list that is there still revokes.
void CheckRevocation(const Endorsements& endorsements, const Certificate& root,
                     std::initializer_list<const Certificate*> certificates, absl::Time now,
                     bool waived, CheckList* checks);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_REVOCATION_H_
