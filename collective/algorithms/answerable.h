// SPDX-License-Identifier: Apache-2.0
//
// Whom a broken record can be blamed on.
#ifndef CARAVAN_COLLECTIVE_ALGORITHMS_ANSWERABLE_H_
#define CARAVAN_COLLECTIVE_ALGORITHMS_ANSWERABLE_H_

#include <cstdint>
#include <vector>

#include "collective/plan/plan.h"

namespace caravan::collective {

// The ranks that may have broken the record of a kOpen or kRelay step, the first to have it first.
// Whoever opens a record judges its tag before handing it on, so `via` answers for it alone; ranks
// that only relay cannot judge: then the source and every rank after it may have.
std::vector<uint16_t> AnswerableFor(const Plan& plan, const Step& step);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_ALGORITHMS_ANSWERABLE_H_
