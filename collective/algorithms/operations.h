// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm's steps make up which operation. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_OPERATIONS_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_OPERATIONS_H_

#include "absl/status/status.h"
#include "collective/plan/plan_builder.h"

namespace caravan::collective {

// Unimplemented: the algorithm is not one of the operation's.
absl::Status DoesNotFit(const OperationSpec& spec);

// Adds the steps of builder.spec(), whose algorithm is one of the operation's, for two ranks or
// more.
absl::Status AddSteps(PlanBuilder& builder);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_OPERATIONS_H_
