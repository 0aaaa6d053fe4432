// SPDX-License-Identifier: Apache-2.0
//
// One of each kind of evidence, with all that it takes to verify it.
#ifndef CARAVAN_BENCH_VERIFY_SUBJECTS_H_
#define CARAVAN_BENCH_VERIFY_SUBJECTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::bench {

struct Subject {
  std::string name;              // "tdx v4, synthetic"
  std::function<bool()> verify;  // false when the verdict is not to accept it
};

// Signed here by chains of our own, in the formats of the hardware: nothing but memory is needed.
std::vector<Subject> SyntheticSubjects();

// Real ones, below a folder of test vectors. NotFound naming the file that is missing.
absl::StatusOr<std::vector<Subject>> RealSubjects(const std::string& folder);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_VERIFY_SUBJECTS_H_
