// SPDX-License-Identifier: Apache-2.0
//
// One member's part of one communicator: takes operations from the ring, starts them, drives its
// lanes, completes operations in order.
#ifndef CARAVAN_DAEMON_ENGINE_GROUP_H_
#define CARAVAN_DAEMON_ENGINE_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/engine/group_state.h"
#include "daemon/engine/receiver.h"
#include "daemon/engine/recent_operations.h"
#include "daemon/engine/sender.h"
#include "daemon/engine/standstill.h"
#include "daemon/engine/submissions.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

class Group {
 public:
  // InvalidArgument when the configuration contradicts itself.
  static absl::StatusOr<std::unique_ptr<Group>> Create(GroupConfig config,
                                                       const EngineOptions& options);

  // Does what can be done without waiting. True when anything moved.
  bool Turn(int64_t now_ns);
  // Does some work that is due later; true when there may be more.
  bool WorkAhead();
  void Fail(const absl::Status& reason);

  // Whether Turn() would take something from the ring.
  bool HasSubmissions() const;
  void SetSleeping(bool sleeping) { submissions_.SetSleeping(sleeping); }
  // When the oldest operation's time is up (steady clock), or INT64_MAX.
  int64_t deadline_ns() const;

  const crypto::EpochId& epoch() const { return state_.config().epoch; }
  std::vector<int> wake_fds() const;
  const std::vector<std::unique_ptr<Lane>>& lanes() const { return state_.lanes(); }
  GroupStatus Status() const;
  absl::StatusOr<std::string> Describe(uint64_t sequence) const {
    return recent_.Describe(sequence);
  }
  absl::StatusOr<Wait> DescribeWait(int64_t now_ns);

 private:
  Group(GroupConfig config, const EngineOptions& options, Submissions submissions);
  bool TakeSubmissions();
  void RaiseSubmission(const absl::Status& bad);
  // Whether its plan fits beside those that are outstanding.
  bool HasRoomFor(const collective::OperationSpec& spec) const;
  bool StartOperation(Submission submission);
  std::unique_ptr<Operation> MakeOperation(std::shared_ptr<const Program> program,
                                           uint64_t sequence);
  bool ReleaseOperations();
  bool RunLocalSteps();
  bool CompleteOperations();
  // Completes everything submitted, taken or not, with the failure.
  bool CompleteAllFailed();
  void ReportFault();

  const EngineOptions options_;
  GroupState state_;
  Submissions submissions_;
  std::optional<Submission> held_;                // taken, waits for room
  std::vector<collective::OperationSpec> views_;  // of the submission at hand
  Standstill standstill_;
  Sender sender_;
  Receiver receiver_;
  ProgramCache programs_;
  std::vector<std::unique_ptr<Operation>> spare_;
  // The next collective, made ahead in the expectation that it is like the last.
  std::unique_ptr<Operation> ahead_;
  std::shared_ptr<const Program> last_program_;
  uint64_t first_unreleased_ = 0;
  size_t first_lane_ = 0;
  bool reported_ = false;
  absl::Status failure_;
  RecentOperations recent_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_GROUP_H_
