// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/subjects.h"

#include <memory>
#include <utility>

#include "attestation/known_signatures.h"
#include "attestation/verifier.h"

namespace caravan::bench {

Subject MakeSubject(std::string name, attestation::EvidenceSet evidence,
                    attestation::Endorsements endorsements, attestation::Policy policy,
                    attestation::ReportDataExpectation expected, absl::Time now) {
  const auto verifier = [=](std::shared_ptr<attestation::KnownSignatures> known) {
    attestation::Endorsements all = endorsements;
    all.known_signatures = std::move(known);
    return
        [=] { return attestation::VerifyStored(evidence, all, policy, expected, now).accepted(); };
  };
  return {std::move(name), verifier(nullptr),
          verifier(std::make_shared<attestation::KnownSignatures>())};
}

}  // namespace caravan::bench
