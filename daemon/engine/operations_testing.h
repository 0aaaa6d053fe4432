// SPDX-License-Identifier: Apache-2.0
//
// For tests: one operation on all ranks of a communicator, from submission to the compared result.
#ifndef CARAVAN_DAEMON_ENGINE_OPERATIONS_TESTING_H_
#define CARAVAN_DAEMON_ENGINE_OPERATIONS_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collective/simulate/reference.h"
#include "collective/types.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::engine {

// By rank; of Send and Recv the two ends alone, see RankOf.
struct OperationForTest {
  std::vector<collective::OperationSpec> specs;  // with the algorithm resolved
  std::vector<collective::Bytes> inputs;
  std::vector<collective::Bytes> expected;
  std::vector<BufferForTest> outputs;
  std::vector<uint64_t> ids;
  std::string what;

  int RankOf(size_t index, int size) const;
};

// Submits on every rank that has an engine. `spec` as rank 0 sees it; Send goes from rank 0 to the
// last rank. The same `seed` gives the same numbers.
OperationForTest SubmitForTest(CommunicatorForTest& comm, collective::OperationSpec spec,
                               uint64_t seed, bool in_place = false);
// Waits, and asserts that each rank that has an engine got what is expected.
void CheckForTest(CommunicatorForTest& comm, const OperationForTest& operation);
// Expects that each counted what its plans say, and nothing went wrong.
void CheckCountersForTest(CommunicatorForTest& comm);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_OPERATIONS_TESTING_H_
