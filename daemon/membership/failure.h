// SPDX-License-Identifier: Apache-2.0
//
// One reason for all: how the members of an epoch agree why it ended.
//
// Whoever meets a fault reports it to the lowest rank that answers, itself included. There the
// first report decides; that rank ends the epoch at every member with this reason and answers with
// it. Nobody answers: the own fault stands. Where a fault is that others were waited for in vain,
// whoever holds them up is looked for first (waits.h).
#ifndef CARAVAN_DAEMON_MEMBERSHIP_FAILURE_H_
#define CARAVAN_DAEMON_MEMBERSHIP_FAILURE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "daemon/engine/engine.h"
#include "daemon/membership/epoch_table.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/peer.h"

namespace caravan::membership {

// Thread-safe.
class FailureArbiter {
 public:
  struct Options {
    EpochTable* epochs = nullptr;  // these outlive the arbiter
    engine::Engine* engine = nullptr;
    base::WorkerPool* workers = nullptr;
    // Calls to a member, over any open session with it or one that is made by the deadline; null
    // when there is none.
    std::function<std::shared_ptr<PeerClient>(const Membership&, uint16_t rank,
                                              absl::Time deadline)>
        peer;
    absl::Duration try_for = absl::Seconds(1);                // a member's answer
    absl::Duration blamed_try_for = absl::Milliseconds(600);  // of one that may well be dead
  };
  explicit FailureArbiter(Options options) : options_(std::move(options)) {}

  // Agrees on a reason, ends the epoch here with it, and returns it. Blocks for at most try_for a
  // member of a lower rank.
  absl::Status Arbitrate(const std::shared_ptr<Membership>& membership, v1::FaultReport own);

  // The engine's first fault of an epoch: never blocks.
  void OnFault(const crypto::EpochId& epoch, engine::Fault fault);

  // The peers' side. NotFound: an epoch that this node does not know. PermissionDenied: a caller
  // that is no member of it.
  absl::Status OnReport(const Caller& caller, const v1::ReportFaultRequest& request,
                        v1::ReportFaultReply* reply);
  absl::Status OnEnd(const Caller& caller, const v1::EndEpochRequest& request);
  absl::Status OnDescribe(const Caller& caller, const v1::DescribeOperationRequest& request,
                          v1::DescribeOperationReply* reply);
  // FailedPrecondition: it has failed here, or is about to.
  absl::Status OnDescribeWait(const Caller& caller, const v1::DescribeWaitRequest& request,
                              v1::DescribeWaitReply* reply);

 private:
  // `told`: a member that knows the reason already.
  v1::FaultReport DecideHere(const std::shared_ptr<Membership>& membership,
                             const v1::FaultReport& report, int told);
  v1::FaultReport End(const std::shared_ptr<Membership>& membership, const v1::FaultReport& decided,
                      bool* first);
  std::string ExplainMismatch(const Membership& membership, const engine::Fault& fault);
  // Blames whom the chain of waits ends at. Blocks for at most twice blamed_try_for.
  void BlameTheCause(const Membership& membership, engine::Fault* fault);
  // `call` a member by `deadline`. Unavailable, too, when there is no session with it.
  absl::Status Call(const Membership& membership, uint16_t rank, absl::Time deadline,
                    const std::function<absl::Status(PeerClient&)>& call);
  absl::StatusOr<std::shared_ptr<Membership>> FindFor(const Caller& caller,
                                                      absl::string_view epoch);

  const Options options_;
};

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_FAILURE_H_
