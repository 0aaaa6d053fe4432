// SPDX-License-Identifier: Apache-2.0
//
// CommunicatorManager after creation: its end, and what peers ask.
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/reason.h"
#include "daemon/service/communicator_manager.h"
#include "daemon/session/reasons.h"

namespace caravan::service {
namespace {

constexpr size_t kMaxAbortReason = 1024;
constexpr size_t kStopWidth = 16;
// How long a peer's call may keep a thread.
constexpr absl::Duration kLongestJoin = absl::Hours(1);
constexpr absl::Duration kLongestConfirm = absl::Minutes(1);

// A replaced session names no new epoch.
absl::Status RefuseReplaced(absl::string_view doing) {
  return base::Refusal(
      absl::StatusCode::kAborted, session::kReplaced,
      absl::StrCat("the session is being replaced: ", doing, " over the newer one"));
}

}  // namespace

void CommunicatorManager::Forget(uint64_t handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  communicators_.erase(handle);
}

absl::StatusOr<std::shared_ptr<CommunicatorManager::Communicator>> CommunicatorManager::Find(
    const local::Application& application, uint64_t handle) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = communicators_.find(handle);
  if (found == communicators_.end() || found->second->application->id != application.id ||
      found->second->ring == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("handle: ", handle, " is no communicator of this application"));
  }
  return found->second;
}

absl::StatusOr<std::shared_ptr<engine::SharedMemory>> CommunicatorManager::Ring(
    const local::Application& application, uint64_t handle) const {
  auto communicator = Find(application, handle);
  if (!communicator.ok()) return communicator.status();
  return (*communicator)->ring;
}

bool CommunicatorManager::LeaveOthersBehind(Communicator& communicator) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool others =
      std::any_of(communicators_.begin(), communicators_.end(), [&](const auto& entry) {
        return entry.first != communicator.handle && entry.second->ring != nullptr &&
               entry.second->membership == communicator.membership;
      });
  if (!others) return false;
  communicator.left->store(true);
  eventfd_write(communicator.application->wake_fd, 1);
  communicators_.erase(communicator.handle);
  return true;
}

absl::Status CommunicatorManager::Destroy(const local::Application& application, uint64_t handle) {
  auto communicator = Find(application, handle);
  if (!communicator.ok()) return communicator.status();
  membership::Membership& membership = *(*communicator)->membership;
  // No member is told: those who still need this rank will ask, and get this answer.
  bool first = false;
  // The others go on until one of them calls an operation that needs this rank.
  if (LeaveOthersBehind(**communicator)) return absl::OkStatus();
  membership.Decide(
      membership::MakeReport(
          absl::CancelledError(absl::StrCat((*communicator)->who, ": application (pid ",
                                            application.credentials.pid, ") has left communicator ",
                                            membership.roster().communicator())),
          membership.rank(), membership.rank()),
      &first);
  options_.engine->Remove(membership.epoch());
  epochs_.Retire(membership.epoch());
  Forget(handle);
  return absl::OkStatus();
}

absl::Status CommunicatorManager::Abort(const local::Application& application, uint64_t handle,
                                        const std::string& reason) {
  auto communicator = Find(application, handle);
  if (!communicator.ok()) return communicator.status();
  if (reason.size() > kMaxAbortReason) {
    return absl::InvalidArgumentError(
        absl::StrCat("reason: has ", reason.size(), " bytes, at most ", kMaxAbortReason));
  }
  std::shared_ptr<membership::Membership> membership = (*communicator)->membership;
  absl::Status status =
      absl::AbortedError(absl::StrCat((*communicator)->who, ": aborted: ", reason));
  workers_.Post([this, membership, status] {
    arbiter_
        .Arbitrate(membership,
                   membership::MakeReport(status, membership->rank(), membership->rank()))
        .IgnoreError();
  });
  return absl::OkStatus();
}

void CommunicatorManager::End(const std::shared_ptr<Communicator>& communicator,
                              const absl::Status& reason) {
  // Stops a creation in its first half; the second half looks for the reason itself.
  communicator->cancellation.Cancel(reason);
  std::shared_ptr<membership::Membership> membership;
  bool standing = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    membership = communicator->membership;
    standing = communicator->ring != nullptr;
  }
  if (membership == nullptr) return;
  arbiter_
      .Arbitrate(membership, membership::MakeReport(reason, membership->rank(), membership->rank()))
      .IgnoreError();
  // A creation that is under way cleans up after itself.
  if (!standing) return;
  options_.engine->Remove(membership->epoch());
  epochs_.Retire(membership->epoch());
  Forget(communicator->handle);
}

void CommunicatorManager::EndApplication(const local::Application& application) {
  std::vector<std::shared_ptr<Communicator>> mine;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [handle, communicator] : communicators_) {
      if (communicator->application->id == application.id) mine.push_back(communicator);
    }
  }
  for (const std::shared_ptr<Communicator>& communicator : mine) {
    absl::Status reason = absl::AbortedError(absl::StrCat(communicator->who, ": application (pid ",
                                                          application.credentials.pid, ") ended"));
    communicator->cancellation.Cancel(reason);
    workers_.Post([this, communicator, reason] { End(communicator, reason); });
  }
}

void CommunicatorManager::OnSessionClosed(const session::Session& session) {
  absl::Status why = session.status();
  bool refused = absl::IsPermissionDenied(why) || absl::IsFailedPrecondition(why);
  if (!refused && options_.tools.sessions->FindPeer(session.peer_spki()) != nullptr) return;
  for (const std::shared_ptr<membership::Membership>& membership : epochs_.Live()) {
    std::optional<uint16_t> peer = membership->RankOf(session.peer_spki());
    if (!peer.has_value() || *peer == membership->rank()) continue;
    std::string text =
        refused ? absl::StrCat("re-attestation of ", membership->Name(*peer),
                               " failed: ", why.message())
                : absl::StrCat(membership->Name(membership->rank()), " lost its session with ",
                               membership->Name(*peer), ": ", why.message());
    absl::Status reason(
        refused ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable, text);
    workers_.Post([this, membership, reason, peer = *peer] {
      arbiter_.Arbitrate(membership, membership::MakeReport(reason, membership->rank(), peer))
          .IgnoreError();
    });
  }
}

bool CommunicatorManager::ExpectsLane(const crypto::SessionId& session,
                                      const crypto::EpochId& epoch) const {
  std::shared_ptr<membership::Membership> membership = epochs_.Find(epoch);
  return membership != nullptr && membership->ExpectsLane(session);
}

void CommunicatorManager::OnLane(transport::DataConnection lane) {
  std::shared_ptr<membership::Membership> membership = epochs_.Find(lane.epoch);
  absl::Status status = membership == nullptr ? absl::NotFoundError("its epoch is not known")
                                              : membership->AddLane(std::move(lane));
  if (!status.ok()) {
    base::Log(base::Level::kWarning, "dropped a data connection", {{"reason", status.message()}});
  }
}

void CommunicatorManager::Stop() {
  std::vector<std::shared_ptr<Communicator>> all;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (const auto& [handle, communicator] : communicators_) all.push_back(communicator);
  }
  rendezvous_.Stop(
      absl::UnavailableError(absl::StrCat("the root's daemon (", options_.node, ") is stopping")));
  base::RunParallel(all.size(), kStopWidth, [&](size_t i) {
    End(all[i], absl::UnavailableError(absl::StrCat(all[i]->who, ": its daemon is stopping")));
  });
  workers_.Stop();
}

absl::Status CommunicatorManager::Join(const membership::Caller& caller,
                                       const v1::JoinRequest& request, v1::JoinReply* reply) {
  if (request.rank() == 0) {
    return absl::InvalidArgumentError(
        "rank: 0 is of the node at root_address; this node's rank is another one");
  }
  if (caller.session->draining()) return RefuseReplaced("join");
  if (request.by_store() && !rendezvous_.HasRoot(request.communicator())) {
    return absl::UnavailableError(absl::StrCat(options_.node,
                                               " is not, or no longer, the root of communicator \"",
                                               request.communicator(), "\""));
  }
  absl::Duration timeout = std::min(
      absl::Milliseconds(static_cast<int64_t>(std::min<uint64_t>(request.timeout_ms(), 1u << 30))),
      kLongestJoin);
  absl::Time deadline = std::min(caller.deadline, absl::Now() + timeout);
  membership::Joiner joiner{request, caller.session->peer_spki(), caller.session->id()};
  auto gathered = rendezvous_.Join(std::move(joiner), deadline, caller.cancelled);
  if (!gathered.ok()) return gathered.status();
  auto wrapped =
      membership::WrapEpochSecret((*gathered)->secret, caller.session->secret(), (*gathered)->epoch,
                                  static_cast<uint16_t>(request.rank()));
  if (!wrapped.ok()) return wrapped.status();
  *reply->mutable_roster() = (*gathered)->roster;
  reply->set_wrapped_secret(*wrapped);
  return absl::OkStatus();
}

absl::Status CommunicatorManager::Confirm(const membership::Caller& caller,
                                          const v1::ConfirmRequest& request,
                                          v1::ConfirmReply* reply) {
  auto epoch = membership::ToArray<32>(request.epoch(), "epoch");
  if (!epoch.ok()) return epoch.status();
  absl::Time deadline = std::min(caller.deadline, absl::Now() + kLongestConfirm);
  std::shared_ptr<membership::Membership> membership =
      epochs_.WaitFor(*epoch, deadline, caller.cancelled);
  if (membership == nullptr) return absl::NotFoundError("epoch: is not known here");
  if (request.source() >= membership->rank()) {
    return absl::InvalidArgumentError(absl::StrCat("source: rank ", request.source(),
                                                   " does not confirm to rank ", membership->rank(),
                                                   ": the lower rank calls"));
  }
  uint16_t source = static_cast<uint16_t>(request.source());
  // The root's pairs keep to the session over which the member joined, whatever has come since.
  if (source != 0 && caller.session->draining()) return RefuseReplaced("confirm");
  auto mac = membership->OwnMac(source);
  if (!mac.ok()) return mac.status();
  absl::Status status = membership->ConfirmPair(caller.session, source, request.mac());
  if (!status.ok()) return status;
  reply->set_mac(*mac);
  return absl::OkStatus();
}

absl::Status CommunicatorManager::ReportFault(const membership::Caller& caller,
                                              const v1::ReportFaultRequest& request,
                                              v1::ReportFaultReply* reply) {
  return arbiter_.OnReport(caller, request, reply);
}

absl::Status CommunicatorManager::EndEpoch(const membership::Caller& caller,
                                           const v1::EndEpochRequest& request) {
  return arbiter_.OnEnd(caller, request);
}

absl::Status CommunicatorManager::DescribeOperation(const membership::Caller& caller,
                                                    const v1::DescribeOperationRequest& request,
                                                    v1::DescribeOperationReply* reply) {
  return arbiter_.OnDescribe(caller, request, reply);
}

absl::Status CommunicatorManager::DescribeWait(const membership::Caller& caller,
                                               const v1::DescribeWaitRequest& request,
                                               v1::DescribeWaitReply* reply) {
  return arbiter_.OnDescribeWait(caller, request, reply);
}

}  // namespace caravan::service
