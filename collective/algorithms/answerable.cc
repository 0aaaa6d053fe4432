// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/answerable.h"

namespace caravan::collective {
namespace {

// Bruck's algorithm moves a block by the lowest bit of the distance that is left (bruck.cc).
int LowestBit(int distance) { return distance & -distance; }

}  // namespace

std::vector<uint16_t> AnswerableFor(const Plan& plan, const Step& step) {
  if (plan.spec.algorithm != Algorithm::kBruckForward) return {step.via};
  std::vector<uint16_t> ranks;
  const int distance = (plan.rank - step.source + plan.size) % plan.size;
  int gone = 0;
  // To a relay the block goes by the same lowest bits as to its destination.
  while (gone != distance) {
    ranks.push_back(static_cast<uint16_t>((step.source + gone) % plan.size));
    gone += LowestBit(distance - gone);
  }
  return ranks;
}

}  // namespace caravan::collective
