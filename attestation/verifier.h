// SPDX-License-Identifier: Apache-2.0
//
// The verifier (RFC 9334): evidence, endorsements and a policy in, an appraisal out. Pure: the time
// is an argument, and nothing is fetched.
#ifndef CARAVAN_ATTESTATION_VERIFIER_H_
#define CARAVAN_ATTESTATION_VERIFIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/appraisal.h"
#include "attestation/attester.h"
#include "attestation/binder.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation {

// Appraises every item of the set. Evidence of a kind without a verifier, an empty set or an item
// of a kind that stands twice is never accepted. Claims hold only when the appraisal is accepted.
Appraisal Verify(const EvidenceSet& evidence, const Endorsements& endorsements,
                 const Policy& policy, const ReportData& expected, absl::Time now);

// Verifies for a session, whose devices answer nonces of their own (composite.h). With report data
// alone, as above, devices beside the CPU cannot be verified.
Appraisal VerifyFor(const EvidenceSet& evidence, const Endorsements& endorsements,
                    const Policy& policy, const EvidenceRequest& expected, absl::Time now);

// Verifies stored evidence, for tools: report data may go unchecked there on purpose.
Appraisal VerifyStored(const EvidenceSet& evidence, const Endorsements& endorsements,
                       const Policy& policy, const ReportDataExpectation& expected, absl::Time now);

// The verifier as a session wants it, with its policy and endorsements, whose signatures it checks
// once (known_signatures.h). InvalidArgument when ValidatePolicy refuses the policy.
absl::StatusOr<std::unique_ptr<Appraiser>> MakeAppraiser(Policy policy, Endorsements endorsements);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_VERIFIER_H_
