// SPDX-License-Identifier: Apache-2.0
//
// Which collateral a piece of evidence needs.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_NEEDS_H_
#define CARAVAN_ATTESTATION_COLLATERAL_NEEDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/collateral_source.h"
#include "attestation/evidence.h"

namespace caravan::attestation {

struct CollateralNeeds {
  // Each once, what others are verified with first.
  std::vector<CollateralRequest> requests;
  // What is needed besides, but no service hands out, or the evidence does not tell: a sentence
  // each, with what to do.
  std::vector<std::string> gaps;
};

// Certificates that the evidence carries are not asked for. `at_hand` only decides what the
// evidence leaves open, such as the product of a version 2 report: ask again when it has grown. A
// software stand-in's evidence needs nothing. InvalidArgument: the evidence is malformed.
absl::StatusOr<CollateralNeeds> RequiredCollateral(const Evidence& evidence,
                                                   const Endorsements& at_hand);
// What all items of a set need.
absl::StatusOr<CollateralNeeds> RequiredCollateral(const EvidenceSet& set,
                                                   const Endorsements& at_hand);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_NEEDS_H_
