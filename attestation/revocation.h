// SPDX-License-Identifier: Apache-2.0
//
// Revocation (RFC 5280): lists that one issuer signed, at a given time.
#ifndef CARAVAN_ATTESTATION_REVOCATION_H_
#define CARAVAN_ATTESTATION_REVOCATION_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/x509.h"

namespace caravan::attestation {

struct RevocationRule {
  std::string id;  // of the checks: "SNP" gives SNP_CRL, SNP_CRL_FORM, _CRL_SIGNATURE, SNP_REVOKED
  SignatureSuite suite = SignatureSuite::kSha384;
  bool waived = false;  // the policy does without a fresh list
  std::string hint;     // where to get one
};

// Looks for the serial numbers of `certificates` in every list of `issuer`, which issued them. A
// stale list's revocations count, but only a fresh list proves that there is none.
void CheckRevocation(const RevocationRule& rule, const Endorsements& endorsements,
                     const Certificate& issuer, absl::Span<const Certificate* const> certificates,
                     absl::Time now, CheckList* checks);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_REVOCATION_H_
