// SPDX-License-Identifier: Apache-2.0
//
// For tests: collectives whose results are known without computing them a second time, so that
// vectors of any size can be checked in place.
#ifndef CARAVAN_TESTS_INTEGRATION_CHECKED_CALL_H_
#define CARAVAN_TESTS_INTEGRATION_CHECKED_CALL_H_

#include <cstdint>

#include "caravan/caravan.h"

namespace caravan::testing {

// A collective of floats; reductions are sums.
struct Call {
  int op = 1;  // as collective::Operation numbers them; not Send and Recv
  Algorithm algorithm = Algorithm::kAuto;
  uint64_t count = 0;  // as the operation counts; where counts differ by rank, see CountOf
  int root = 0;
};

// Elements that rank `from` contributes (AllGatherV) or sends to rank `to` (AllToAllV).
uint64_t CountOf(const Call& call, int from, int to);
// Elements that a rank's buffers must hold.
uint64_t InputElements(const Call& call, int rank, int size);
uint64_t OutputElements(const Call& call, int rank, int size);

// Fills the input, runs the call and checks every element. DataLoss: a wrong one. AllReduce,
// Broadcast and Reduce take one buffer for both.
absl::Status RunChecked(Communicator& communicator, Buffer& input, Buffer& output,
                        const Call& call);
// Runs the call with buffers of its own.
absl::Status RunChecked(Node& node, Communicator& communicator, const Call& call);

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_CHECKED_CALL_H_
