// SPDX-License-Identifier: Apache-2.0
//
// The work of one rank as its plan has it: what the closed form of cost.h must equal.
#ifndef CARAVAN_COLLECTIVE_PLAN_PLAN_EFFORT_H_
#define CARAVAN_COLLECTIVE_PLAN_PLAN_EFFORT_H_

#include "collective/cost/cost.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

// Messages are not counted: a plan does not say what goes out together. A key is counted once a
// stream.
Effort EffortOf(const Plan& plan);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_PLAN_PLAN_EFFORT_H_
