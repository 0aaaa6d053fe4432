// SPDX-License-Identifier: Apache-2.0
//
// The two halves of what daemons ask of one another, free of gRPC: calls to a peer, and calls
// from one. Implemented over a session's streams by peer_bridge.h.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_PEER_H_
#define CARAVAN_DAEMON_MEMBERSHIP_PEER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/membership/cancellation.h"
#include "daemon/session/session.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

// Calls to one peer over one session. Thread-safe. Each call blocks until the reply, the deadline
// (DeadlineExceeded), the end of the session (Unavailable) or, where given, the cancellation
// (its reason). Other errors are the peer's own words.
class PeerClient {
 public:
  virtual ~PeerClient() = default;
  virtual absl::Status Join(const v1::JoinRequest& request, v1::JoinReply* reply,
                            absl::Time deadline, Cancellation* cancellation) = 0;
  virtual absl::Status Confirm(const v1::ConfirmRequest& request, v1::ConfirmReply* reply,
                               absl::Time deadline, Cancellation* cancellation) = 0;
  virtual absl::Status ReportFault(const v1::ReportFaultRequest& request,
                                   v1::ReportFaultReply* reply, absl::Time deadline) = 0;
  virtual absl::Status EndEpoch(const v1::EndEpochRequest& request, absl::Time deadline) = 0;
  virtual absl::Status DescribeOperation(const v1::DescribeOperationRequest& request,
                                         v1::DescribeOperationReply* reply,
                                         absl::Time deadline) = 0;
  virtual absl::Status DescribeWait(const v1::DescribeWaitRequest& request,
                                    v1::DescribeWaitReply* reply, absl::Time deadline) = 0;
};

// Who calls and for how long.
struct Caller {
  std::shared_ptr<session::Session> session;
  absl::Time deadline = absl::InfiniteFuture();
  std::function<bool()> cancelled = [] { return false; };  // cheap; may be polled
};

// Takes the peers' calls; several at a time, on gRPC's threads. Who calls comes from the session,
// never from the message.
class PeerHandler {
 public:
  virtual ~PeerHandler() = default;
  virtual absl::Status Join(const Caller& caller, const v1::JoinRequest& request,
                            v1::JoinReply* reply) = 0;
  virtual absl::Status Confirm(const Caller& caller, const v1::ConfirmRequest& request,
                               v1::ConfirmReply* reply) = 0;
  virtual absl::Status ReportFault(const Caller& caller, const v1::ReportFaultRequest& request,
                                   v1::ReportFaultReply* reply) = 0;
  virtual absl::Status EndEpoch(const Caller& caller, const v1::EndEpochRequest& request) = 0;
  virtual absl::Status DescribeOperation(const Caller& caller,
                                         const v1::DescribeOperationRequest& request,
                                         v1::DescribeOperationReply* reply) = 0;
  virtual absl::Status DescribeWait(const Caller& caller, const v1::DescribeWaitRequest& request,
                                    v1::DescribeWaitReply* reply) = 0;
};

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_PEER_H_
