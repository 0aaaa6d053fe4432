// SPDX-License-Identifier: Apache-2.0
//
// One of each kind of evidence, with all that it takes to verify it.
#ifndef CARAVAN_BENCH_VERIFY_SUBJECTS_H_
#define CARAVAN_BENCH_VERIFY_SUBJECTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"

namespace caravan::bench {

// Both: false when the verdict is not to accept it.
struct Subject {
  std::string name;              // "tdx v4, synthetic"
  std::function<bool()> verify;  // every signature
  // As an appraiser that is kept: the report's signature and all else, but for signatures of
  // certificates, manifests and status answers that held before.
  std::function<bool()> verify_again;
};

Subject MakeSubject(std::string name, attestation::EvidenceSet evidence,
                    attestation::Endorsements endorsements, attestation::Policy policy,
                    attestation::ReportDataExpectation expected, absl::Time now);

// Signed here by chains of our own, in the formats of the hardware: nothing but memory is needed.
std::vector<Subject> SyntheticSubjects();

// Real ones, below a folder of test vectors. NotFound naming the file that is missing.
absl::StatusOr<std::vector<Subject>> RealSubjects(const std::string& folder);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_VERIFY_SUBJECTS_H_
