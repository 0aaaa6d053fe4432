// SPDX-License-Identifier: Apache-2.0
//
// The certificates that come with evidence, wherever its format has them.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_CARRIED_H_
#define CARAVAN_ATTESTATION_COLLATERAL_CARRIED_H_

#include <string>
#include <vector>

#include "attestation/evidence.h"

namespace caravan::attestation {

// DER, none of them trusted: those that the attester sent and those inside a quote. What cannot be
// read is left out.
std::vector<std::string> CarriedCertificates(const Evidence& evidence);
// Those, the endorsements', and those inside manifests: every one that may have signed something.
std::vector<std::string> CertificatesAtHand(const EvidenceSet& set, const Endorsements& at_hand);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_CARRIED_H_
