// SPDX-License-Identifier: Apache-2.0
//
// Who holds an operation up, where members wait for one another: in rings and trees, and behind
// anybody who takes nothing, the one that a member waits for mostly waits itself.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_WAITS_H_
#define CARAVAN_DAEMON_MEMBERSHIP_WAITS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/engine/engine.h"
#include "daemon/membership/membership.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

struct WaitCause {
  uint16_t rank = 0;
  // "rank 1 (node-b) waits for rank 2 (node-c) in allreduce(f32 × 1024, sum), sequence 2; rank 2
  // (node-c) does not answer": 1 KiB at most.
  std::string explanation;
};

// Whom a member waits for. DeadlineExceeded, Unavailable: it does not answer.
using AskWait = std::function<absl::StatusOr<v1::DescribeWaitReply>(uint16_t rank)>;

// Asks those that `fault.waits_for` names, then those that they wait for, each member at most once,
// nearest first. The cause is the first that
//   - does not answer, or
//   - has waited, or done nothing, for at least half as long as the reporter, and waits for nobody
//     else or has nothing outstanding: its application calls nothing;
// where there is none, the first that has waited for less: it moves, if slowly.
// Nothing, and the fault stands as it is: all wait in circles; or somebody gave NotFound,
// FailedPrecondition or Aborted, which means that a reason is being agreed on already. Answers that
// make no sense, and other errors, lead no further.
std::optional<WaitCause> FollowWaits(const engine::Fault& fault, const Membership& membership,
                                     const AskWait& ask);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_WAITS_H_
