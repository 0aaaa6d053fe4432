// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/carried.h"

#include <utility>

#include "absl/status/statusor.h"
#include "attestation/intel/certification_chain.h"
#include "attestation/intel/quote.h"
#include "attestation/nvidia/rim_signature.h"

namespace caravan::attestation {

std::vector<std::string> CarriedCertificates(const Evidence& evidence) {
  std::vector<std::string> certificates = evidence.certificates;
  if (evidence.kind != EvidenceKind::kTdx && evidence.kind != EvidenceKind::kSgx) {
    return certificates;
  }
  const absl::StatusOr<intel::Quote> quote = intel::ParseQuote(evidence.report);
  if (!quote.ok() || quote->certification_type != intel::kPckCertChain) return certificates;
  absl::StatusOr<std::vector<std::string>> chain =
      intel::ReadCertificationChain(quote->certification_data);
  if (!chain.ok()) return certificates;
  for (std::string& der : *chain) certificates.push_back(std::move(der));
  return certificates;
}

std::vector<std::string> CertificatesAtHand(const EvidenceSet& set, const Endorsements& at_hand) {
  std::vector<std::string> certificates = at_hand.certificates;
  const auto add = [&certificates](std::vector<std::string> more) {
    for (std::string& der : more) certificates.push_back(std::move(der));
  };
  for (const Evidence& evidence : set.items) add(CarriedCertificates(evidence));
  for (const std::string& xml : at_hand.rims) {
    const absl::StatusOr<nvidia::SignedDocument> document = nvidia::SignedDocument::Parse(xml);
    if (document.ok()) add(document->certificates());
  }
  return certificates;
}

}  // namespace caravan::attestation
