// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/failure.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/reason.h"
#include "daemon/membership/epoch.h"
#include "daemon/membership/waits.h"

namespace caravan::membership {
namespace {

// Bytes that are kept of a peer's account of its operation.
constexpr size_t kMaxDescription = 256;

// A peer that has gone silent or closed its end: it may not answer.
bool MayBeDead(const v1::FaultReport& report) {
  auto code = static_cast<absl::StatusCode>(report.code());
  return report.peer() != report.rank() &&
         (code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded);
}

}  // namespace

v1::FaultReport FailureArbiter::End(const std::shared_ptr<Membership>& membership,
                                    const v1::FaultReport& decided, bool* first) {
  v1::FaultReport reason = membership->Decide(decided, first);
  if (*first) {
    absl::Status status = ToStatus(reason);
    base::Log(base::Level::kWarning, "epoch ended",
              {{"communicator", membership->roster().communicator()},
               {"epoch", ShortHex(membership->epoch())},
               {"rank", membership->rank()},
               {"reason", status.message()}});
    options_.engine->Fail(membership->epoch(), status);
  }
  return reason;
}

v1::FaultReport FailureArbiter::DecideHere(const std::shared_ptr<Membership>& membership,
                                           const v1::FaultReport& report, int told) {
  bool first = false;
  v1::FaultReport decided = End(membership, report, &first);
  if (!first) return decided;
  for (uint16_t rank = 0; rank < membership->size(); ++rank) {
    if (rank == membership->rank() || rank == told) continue;
    options_.workers->Post([this, membership, decided, rank] {
      std::shared_ptr<PeerClient> peer =
          options_.peer(*membership, rank, absl::Now() + options_.try_for);
      if (peer == nullptr) return;
      v1::EndEpochRequest request;
      request.set_epoch(ToBytes(membership->epoch()));
      *request.mutable_decided() = decided;
      absl::Status status = peer->EndEpoch(request, absl::Now() + options_.try_for);
      if (status.ok() || absl::IsNotFound(status)) return;
      base::Log(base::Level::kInfo, "member not told of an epoch's end",
                {{"member", membership->Name(rank)}, {"error", status.message()}});
    });
  }
  return decided;
}

absl::Status FailureArbiter::Call(const Membership& membership, uint16_t rank, absl::Time deadline,
                                  const std::function<absl::Status(PeerClient&)>& call) {
  absl::Status status = absl::UnavailableError("no session");
  // A session that closes meanwhile says nothing about the peer: a second try takes another one.
  for (int tries = 0; tries < 2 && absl::IsUnavailable(status); ++tries) {
    std::shared_ptr<PeerClient> peer = options_.peer(membership, rank, deadline);
    if (peer == nullptr) break;
    status = call(*peer);
  }
  return status;
}

absl::Status FailureArbiter::Arbitrate(const std::shared_ptr<Membership>& membership,
                                       v1::FaultReport own) {
  for (uint16_t rank = 0; rank < membership->rank(); ++rank) {
    // Told meanwhile by another member's arbiter.
    if (auto decided = membership->decided()) return ToStatus(*decided);
    bool doubtful = rank == own.peer() && MayBeDead(own);
    v1::ReportFaultRequest request;
    request.set_epoch(ToBytes(membership->epoch()));
    *request.mutable_fault() = own;
    v1::ReportFaultReply reply;
    const absl::Time deadline =
        absl::Now() + (doubtful ? options_.blamed_try_for : options_.try_for);
    absl::Status status = Call(*membership, rank, deadline, [&](PeerClient& peer) {
      return peer.ReportFault(request, &reply, deadline);
    });
    if (!status.ok() || reply.decided().code() == 0) continue;
    bool first = false;
    return ToStatus(End(membership, reply.decided(), &first));
  }
  return ToStatus(DecideHere(membership, own, /*told=*/-1));
}

std::string FailureArbiter::ExplainMismatch(const Membership& membership,
                                            const engine::Fault& fault) {
  absl::StatusOr<std::string> ours =
      options_.engine->DescribeOperation(membership.epoch(), fault.sequence);
  std::shared_ptr<PeerClient> peer =
      options_.peer(membership, fault.peer, absl::Now() + options_.try_for);
  if (!ours.ok() || peer == nullptr) return fault.message;
  v1::DescribeOperationRequest request;
  request.set_epoch(ToBytes(membership.epoch()));
  request.set_sequence(fault.sequence);
  v1::DescribeOperationReply reply;
  if (!peer->DescribeOperation(request, &reply, absl::Now() + options_.try_for).ok()) {
    return fault.message;
  }
  auto called = [](uint16_t rank, absl::string_view what) {
    return absl::StrCat("rank ", rank, " called ", what);
  };
  const std::string theirs = Shortened(reply.description(), kMaxDescription);
  std::string own_call = called(membership.rank(), *ours);
  std::string peer_call = called(fault.peer, theirs);
  // The lower rank first, so that both sides would say the same.
  if (fault.peer < membership.rank()) std::swap(own_call, peer_call);
  return absl::StrCat(own_call, ", ", peer_call, " as operation ", fault.sequence,
                      theirs == *ours ? ", by another algorithm or with other counts" : "");
}

void FailureArbiter::BlameTheCause(const Membership& membership, engine::Fault* fault) {
  // Nobody is asked later, so that the last one asked has its time, too.
  const absl::Time last = absl::Now() + options_.blamed_try_for;
  auto ask = [&](uint16_t rank) -> absl::StatusOr<v1::DescribeWaitReply> {
    const absl::Time now = absl::Now();
    if (membership.decided().has_value()) return absl::AbortedError("the epoch has ended");
    if (now > last) return absl::AbortedError("it takes too long");
    v1::DescribeWaitRequest request;
    request.set_epoch(ToBytes(membership.epoch()));
    v1::DescribeWaitReply reply;
    const absl::Time deadline = now + options_.blamed_try_for;
    absl::Status status = Call(membership, rank, deadline, [&](PeerClient& peer) {
      return peer.DescribeWait(request, &reply, deadline);
    });
    if (!status.ok()) return status;
    return reply;
  };
  auto cause = FollowWaits(*fault, membership, ask);
  if (!cause.has_value()) return;
  fault->peer = cause->rank;
  fault->message.insert(base::TextBeforeReason(fault->message).size(),
                        absl::StrCat("; ", cause->explanation));
}

void FailureArbiter::OnFault(const crypto::EpochId& epoch, engine::Fault fault) {
  options_.workers->Post([this, epoch, fault = std::move(fault)]() mutable {
    std::shared_ptr<Membership> membership = options_.epochs->Find(epoch);
    if (membership == nullptr) return;
    if (!fault.waits_for.empty()) BlameTheCause(*membership, &fault);
    std::string message = fault.mismatch ? ExplainMismatch(*membership, fault) : fault.message;
    v1::FaultReport report =
        MakeReport(absl::Status(fault.code, message), membership->rank(), fault.peer);
    report.set_sequence(fault.sequence);
    report.set_phase(fault.phase);
    report.set_chunk(fault.chunk);
    report.set_bytes_done(fault.bytes_done);
    Arbitrate(membership, std::move(report)).IgnoreError();
  });
}

absl::StatusOr<std::shared_ptr<Membership>> FailureArbiter::FindFor(const Caller& caller,
                                                                    absl::string_view epoch) {
  auto id = ToArray<32>(epoch, "epoch");
  if (!id.ok()) return id.status();
  std::shared_ptr<Membership> membership = options_.epochs->Find(*id);
  if (membership == nullptr) return absl::NotFoundError("epoch: is not known here");
  if (!membership->RankOf(caller.session->peer_spki()).has_value()) {
    return absl::PermissionDeniedError("epoch: the caller is no member of it");
  }
  return membership;
}

absl::Status FailureArbiter::OnReport(const Caller& caller, const v1::ReportFaultRequest& request,
                                      v1::ReportFaultReply* reply) {
  auto membership = FindFor(caller, request.epoch());
  if (!membership.ok()) return membership.status();
  if (request.fault().code() == 0) return absl::InvalidArgumentError("fault.code: is 0");
  // Who reports is the caller, whatever it says.
  v1::FaultReport fault = request.fault();
  uint16_t reporter = *(*membership)->RankOf(caller.session->peer_spki());
  fault.set_rank(reporter);
  *reply->mutable_decided() = DecideHere(*membership, fault, reporter);
  return absl::OkStatus();
}

absl::Status FailureArbiter::OnEnd(const Caller& caller, const v1::EndEpochRequest& request) {
  auto membership = FindFor(caller, request.epoch());
  if (!membership.ok()) return membership.status();
  if (request.decided().code() == 0) return absl::InvalidArgumentError("decided.code: is 0");
  bool first = false;
  End(*membership, request.decided(), &first);
  return absl::OkStatus();
}

absl::Status FailureArbiter::OnDescribe(const Caller& caller,
                                        const v1::DescribeOperationRequest& request,
                                        v1::DescribeOperationReply* reply) {
  auto membership = FindFor(caller, request.epoch());
  if (!membership.ok()) return membership.status();
  absl::StatusOr<std::string> text =
      options_.engine->DescribeOperation((*membership)->epoch(), request.sequence());
  if (!text.ok()) return text.status();
  reply->set_description(*text);
  return absl::OkStatus();
}

absl::Status FailureArbiter::OnDescribeWait(const Caller& caller,
                                            const v1::DescribeWaitRequest& request,
                                            v1::DescribeWaitReply* reply) {
  auto membership = FindFor(caller, request.epoch());
  if (!membership.ok()) return membership.status();
  absl::StatusOr<engine::Wait> wait = options_.engine->DescribeWait((*membership)->epoch());
  if (!wait.ok()) return wait.status();
  reply->set_waits(wait->waits);
  for (const uint16_t peer : wait->peers) reply->add_peers(peer);
  reply->set_sequence(wait->sequence);
  reply->set_idle_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(wait->idle)));
  reply->set_description(wait->operation);
  return absl::OkStatus();
}

}  // namespace caravan::membership
