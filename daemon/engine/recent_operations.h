// SPDX-License-Identifier: Apache-2.0
//
// What was submitted to a communicator lately, for whoever asks about a sequence number.
#ifndef CARAVAN_DAEMON_ENGINE_RECENT_OPERATIONS_H_
#define CARAVAN_DAEMON_ENGINE_RECENT_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/types.h"

namespace caravan::engine {

// Keeps as many as two rings hold; what is older is forgotten.
class RecentOperations {
 public:
  void Add(uint64_t sequence, collective::OperationSpec spec);
  // "allreduce(f32 × 1024, sum)", a collective where a Send or Recv has the same number. NotFound.
  absl::StatusOr<std::string> Describe(uint64_t sequence) const;

 private:
  struct One {
    uint64_t sequence;
    collective::OperationSpec spec;
  };

  std::vector<One> recent_;
  size_t next_ = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_RECENT_OPERATIONS_H_
