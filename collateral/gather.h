// SPDX-License-Identifier: Apache-2.0
//
// All that evidence needs, item by item, out of a source.
#ifndef CARAVAN_COLLATERAL_GATHER_H_
#define CARAVAN_COLLATERAL_GATHER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/collateral_source.h"
#include "attestation/evidence.h"

namespace caravan::collateral {

struct Gathered {
  struct Part {
    attestation::CollateralRequest request;
    absl::Status status;               // why there is none
    attestation::CollateralItem item;  // where status is OK
  };
  std::vector<Part> parts;
  std::vector<std::string> gaps;           // CollateralNeeds'
  attestation::Endorsements endorsements;  // of the parts that are there

  bool complete() const;
};

// Asks for one item after the other; one that is not to be had does not keep the others from
// being asked for. InvalidArgument: the evidence is malformed.
absl::StatusOr<Gathered> Gather(const attestation::EvidenceSet& evidence,
                                attestation::CollateralSource& source, absl::Time deadline);

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_GATHER_H_
