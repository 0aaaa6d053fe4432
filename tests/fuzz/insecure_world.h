// SPDX-License-Identifier: Apache-2.0
//
// One attester, its evidence, and a verifier that accepts it: what fuzzers of evidence share.
#ifndef CARAVAN_TESTS_FUZZ_INSECURE_WORLD_H_
#define CARAVAN_TESTS_FUZZ_INSECURE_WORLD_H_

#include <memory>

#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attestation/binder.h"
#include "attestation/evidence.h"

namespace caravan::fuzz {

class InsecureWorld {
 public:
  static const InsecureWorld& Get();

  const attestation::EvidenceSet& evidence() const { return evidence_; }
  // Appraises `set`; aborts when it is accepted and its report is not the attester's in every
  // signed byte.
  void RequireGenuine(const attestation::EvidenceSet& set) const;

 private:
  InsecureWorld();

  absl::Time now_;
  attestation::ReportData report_data_;
  attestation::EvidenceSet evidence_;
  std::unique_ptr<attestation::Appraiser> appraiser_;
};

}  // namespace caravan::fuzz

#endif  // CARAVAN_TESTS_FUZZ_INSECURE_WORLD_H_
