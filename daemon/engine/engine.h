// SPDX-License-Identifier: Apache-2.0
//
// The engine: takes operations from communicators' rings, runs their plans over lanes, writes
// completions. A few reactor threads share the communicators among them; each communicator lives on
// one of them, and every public call that concerns it posts to that thread.
#ifndef CARAVAN_DAEMON_ENGINE_ENGINE_H_
#define CARAVAN_DAEMON_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "crypto/key_tree.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

// Thread-safe.
class Engine {
 public:
  using Options = EngineOptions;
  static constexpr int kMaxReactors = 64;
  // Half of the cores, for the other half belongs to applications; 1 to 8.
  static int DefaultReactors();
  // InvalidArgument: no ciphers, or a number of reactors out of bounds. ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<Engine>> Start(Options options);
  virtual ~Engine() = default;

  // Lays out the ring and starts serving it on the reactor that has the fewest communicators; owns
  // lanes and wake_fds even where it fails.
  // InvalidArgument when the configuration contradicts itself, AlreadyExists for an epoch that is
  // served.
  virtual absl::Status AddGroup(GroupConfig config) = 0;
  // Ends the group with `reason` (the first one wins): fails everything outstanding, marks the
  // ring, closes the lanes, wipes the keys. Unknown epochs are ignored.
  virtual void Fail(const crypto::EpochId& epoch, const absl::Status& reason) = 0;
  // Like Fail with Cancelled, then forgets the group. Returns when nothing refers to it any more.
  virtual void Remove(const crypto::EpochId& epoch) = 0;
  virtual std::vector<GroupStatus> List() = 0;
  // "allreduce(f32 × 1024, sum)" of a submitted operation, or NotFound.
  virtual absl::StatusOr<std::string> DescribeOperation(const crypto::EpochId& epoch,
                                                        uint64_t sequence) = 0;
  // NotFound: an unknown epoch. FailedPrecondition: the group has failed, or is about to, with a
  // fault that is no deadline.
  virtual absl::StatusOr<Wait> DescribeWait(const crypto::EpochId& epoch) = 0;
  virtual void Stop() = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_ENGINE_H_
