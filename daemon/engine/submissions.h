// SPDX-License-Identifier: Apache-2.0
//
// What the node's own ranks submit to one communicator: a ring each, read entry by entry. An
// operation of ranks that share a node begins once every one of them has submitted it.
#ifndef CARAVAN_DAEMON_ENGINE_SUBMISSIONS_H_
#define CARAVAN_DAEMON_ENGINE_SUBMISSIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/engine/intake.h"
#include "daemon/engine/ring.h"
#include "daemon/engine/submission.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

class Submissions {
 public:
  // Lays out the rings. InvalidArgument when one's memory is too small.
  static absl::StatusOr<Submissions> Create(const GroupConfig& config);

  // The next operation, or nothing yet. `moved`: whether an entry was taken. InvalidArgument or
  // Unimplemented on what an application must not submit; the message ends in [APPLICATION_RING],
  // [APPLICATION_BUFFER], or, where local ranks contradict each other, [OPERATION_MISMATCH].
  // Cancelled, [RANK_LEFT]: one has left, and others call an operation.
  absl::StatusOr<std::optional<Submission>> Next(int64_t now_ns, bool* moved);

  // Whether Next() would take an entry.
  bool HasWork() const;
  void SetSleeping(bool sleeping);
  // When the first of the ranks that wait for others submitted (steady clock), or INT64_MAX.
  int64_t waiting_since_ns() const { return waiting_since_ns_; }
  // "rank 3 has not called what rank 2 called: allreduce(…)"; where some wait.
  std::string DescribeWaiting() const;

  void Complete(uint64_t id, absl::StatusCode code);  // visible after Publish()
  void Publish();
  // After a failure: tells the applications, and ends whatever they submitted or submit. True when
  // something moved.
  void MarkFailed(const absl::Status& reason);
  bool CompleteAll(absl::StatusCode code);
  bool CanSkip() const;

 private:
  struct Source {
    Ring ring;
    IntakeRules rules;
    std::shared_ptr<const std::atomic<bool>> left = nullptr;
    std::optional<Submission> waiting = std::nullopt;  // until the other local ranks have one
  };

  absl::Status TakeFrom(Source& source, int64_t now_ns, bool* moved);
  absl::Status CheckLeft() const;

  std::shared_ptr<const collective::SelectorTable> selector_;
  std::vector<std::shared_ptr<BufferTable>> buffers_;
  std::vector<Source> sources_;  // by local rank
  int64_t waiting_since_ns_ = INT64_MAX;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SUBMISSIONS_H_
