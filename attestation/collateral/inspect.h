// SPDX-License-Identifier: Apache-2.0
//
// What a service sent, made into an item and held against what was asked for, before it is kept.
// Verifiers check all of it again: this only keeps a service, or whoever stands in between, from
// filling a cache with what is of no use.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_INSPECT_H_
#define CARAVAN_ATTESTATION_COLLATERAL_INSPECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/collateral_source.h"

namespace caravan::attestation {

struct CollateralFacts {
  absl::Time issued = absl::UnixEpoch();  // thisUpdate, issueDate; certificates: long ago
  absl::Time expires;                     // the earliest end of all that the item holds
  uint32_t evaluation_number = 0;         // of Intel's documents
};

// Body and issuer chain out of a service's answer: NVIDIA's JSON is unwrapped, Intel's URL-encoded
// chain decoded. InvalidArgument, naming what is malformed.
absl::StatusOr<CollateralItem> TakeAnswer(const CollateralRequest& request, std::string body,
                                          const std::string& encoded_chain);

// Unauthenticated, saying why, unless the item is of the kind that was asked for, about what was
// asked for, and signed: by its own issuer chain or one of `issuers` (DER), up to a root of the
// maker's or one whose SPKI's SHA-256 (hexadecimal, lower case) is among `extra_roots`.
absl::StatusOr<CollateralFacts> InspectCollateral(const CollateralRequest& request,
                                                  const CollateralItem& item,
                                                  const std::vector<std::string>& issuers,
                                                  const std::vector<std::string>& extra_roots);

// OK unless `fresh` is older than `kept`, which it would replace: an old list or document that is
// still valid must not come back (its evaluation number counts before its date).
absl::Status CheckNotOlder(const CollateralFacts& fresh, const CollateralFacts& kept);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_INSPECT_H_
