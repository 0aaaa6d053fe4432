// SPDX-License-Identifier: Apache-2.0
//
// From an operation to one rank's plan.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_BUILD_PLAN_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_BUILD_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "collective/plan/plan.h"
#include "collective/types.h"

namespace caravan::collective {

// Builds and checks the plan of `rank` among `size` (1 to 65534). InvalidArgument on a bad spec;
// Unimplemented when the algorithm does not fit the operation. A plan that would repeat
// (source, destination, phase, chunk) is refused with Internal.
absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const OperationSpec& spec, int rank,
                                                      int size);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_BUILD_PLAN_H_
