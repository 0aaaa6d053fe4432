// SPDX-License-Identifier: Apache-2.0
#include "collateral/gather.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/collateral/carried.h"
#include "attestation/collateral/needs.h"
#include "attestation/verify_input.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralItem;
using attestation::CollateralNeeds;
using attestation::CollateralRequest;
using attestation::Endorsements;

// A certificate may tell a product, a product a list, a list an issuer: more than enough.
constexpr int kRounds = 4;

absl::Status AddTo(const CollateralItem& item, Endorsements* endorsements) {
  absl::Status status = ParseEndorsements(item.body, endorsements);
  if (status.ok() && !item.issuer_chain.empty()) {
    status = ParseEndorsements(item.issuer_chain, endorsements);
  }
  return status;
}

}  // namespace

bool Gathered::complete() const {
  return gaps.empty() &&
         std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.status.ok(); });
}

absl::StatusOr<Gathered> Gather(const attestation::EvidenceSet& evidence,
                                attestation::CollateralSource& source, absl::Time deadline) {
  Gathered gathered;
  for (int round = 0; round < kRounds; ++round) {
    absl::StatusOr<CollateralNeeds> needs = RequiredCollateral(evidence, gathered.endorsements);
    if (!needs.ok()) return needs.status();
    gathered.gaps = std::move(needs->gaps);
    bool grew = false;
    for (CollateralRequest& request : needs->requests) {
      const auto same = [&](const Gathered::Part& part) { return part.request == request; };
      if (std::any_of(gathered.parts.begin(), gathered.parts.end(), same)) continue;
      Gathered::Part part{.request = std::move(request), .status = {}, .item = {}};
      absl::StatusOr<CollateralItem> item =
          source.Get(part.request, CertificatesAtHand(evidence, gathered.endorsements), deadline);
      part.status = item.status();
      if (item.ok()) part.status = AddTo(*item, &gathered.endorsements);
      if (part.status.ok()) {
        part.item = *std::move(item);
        grew = true;
      }
      gathered.parts.push_back(std::move(part));
    }
    if (!grew) break;
  }
  // What a first round had to ask for in the dark may turn out not to be needed.
  absl::StatusOr<CollateralNeeds> needs = RequiredCollateral(evidence, gathered.endorsements);
  if (!needs.ok()) return needs.status();
  const auto needless = [&](const Gathered::Part& part) {
    return std::find(needs->requests.begin(), needs->requests.end(), part.request) ==
           needs->requests.end();
  };
  gathered.parts.erase(std::remove_if(gathered.parts.begin(), gathered.parts.end(), needless),
                       gathered.parts.end());
  return gathered;
}

}  // namespace caravan::collateral
