// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/assembly.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/reason.h"
#include "base/worker_pool.h"
#include "daemon/membership/epoch.h"
#include "daemon/session/reasons.h"

namespace caravan::membership {
namespace {

constexpr size_t kParallel = 16;
constexpr absl::Duration kRetry = absl::Milliseconds(20);
constexpr absl::Duration kDialTry = absl::Seconds(2);

bool MayTryAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Status At(absl::string_view doing, const absl::Status& status) {
  return base::Annotate(doing, status);
}

// The session to confirm on: with rank 0 the one over which the member joined, with others the
// newest there is, or a new one.
absl::StatusOr<std::shared_ptr<session::Session>> PairSession(const Membership& membership,
                                                              const AssemblyTools& tools,
                                                              uint16_t peer, absl::Time deadline) {
  const v1::Member& member = membership.roster().members(peer);
  auto spki = ToArray<32>(member.spki(), "spki");
  if (!spki.ok()) return spki.status();
  if (membership.rank() == 0) {
    auto id = ToArray<16>(member.root_session(), "root_session");
    if (!id.ok()) return id.status();
    std::shared_ptr<session::Session> session = tools.sessions->Find(*id);
    if (session == nullptr) {
      return absl::UnavailableError("the session over which it joined has closed");
    }
    return session;
  }
  std::shared_ptr<session::Session> session = tools.sessions->FindPeer(*spki);
  if (session == nullptr) {
    auto made = tools.sessions->Connect(member.control_address(), deadline);
    if (!made.ok()) return made.status();
    session = *std::move(made);
  }
  if (session->peer_spki() != *spki) {
    return absl::PermissionDeniedError(absl::StrCat("at ", member.control_address(),
                                                    " answers another node than the one that "
                                                    "joined"));
  }
  return session;
}

absl::Status Confirm(Membership& membership, const AssemblyTools& tools,
                     const std::shared_ptr<session::Session>& session, uint16_t peer,
                     absl::Time deadline) {
  // Established, but perhaps a moment before its streams are bridged.
  std::shared_ptr<PeerClient> client = tools.peer(*session);
  while (client == nullptr && session->status().ok() && absl::Now() < deadline) {
    absl::SleepFor(kRetry);
    client = tools.peer(*session);
  }
  if (client == nullptr) {
    return session->status().ok() ? absl::DeadlineExceededError("the session is not in service")
                                  : session->status();
  }
  auto mac = membership.OwnMac(peer);
  if (!mac.ok()) return mac.status();
  v1::ConfirmRequest request;
  request.set_epoch(ToBytes(membership.epoch()));
  request.set_source(membership.rank());
  request.set_mac(*mac);
  v1::ConfirmReply reply;
  absl::Status status = client->Confirm(request, &reply, deadline, &membership.cancellation());
  if (!status.ok()) return status;
  return membership.ConfirmPair(session, peer, reply.mac());
}

absl::Status DialLanes(Membership& membership, const AssemblyTools& tools,
                       const session::Session& session, uint16_t peer, absl::Time deadline) {
  const std::string& address = membership.roster().members(peer).data_address();
  for (uint16_t lane = 0; lane < membership.roster().lanes(); ++lane) {
    // In short tries, so that the epoch's end is noticed in between.
    auto dial = [&] {
      return tools.dial(address, session, membership.epoch(), lane,
                        std::min(deadline, absl::Now() + kDialTry));
    };
    absl::StatusOr<transport::DataConnection> connection = dial();
    while (MayTryAgain(connection.status()) && absl::Now() + kRetry < deadline &&
           membership.cancellation().status().ok()) {
      absl::SleepFor(kRetry);
      connection = dial();
    }
    if (!connection.ok()) return connection.status();
    if (absl::Status status = membership.AddLane(*std::move(connection)); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status AssemblePair(Membership& membership, const AssemblyTools& tools, uint16_t peer,
                          absl::Time deadline) {
  auto doing = [&](absl::string_view what) {
    return absl::StrCat(membership.Name(membership.rank()), " ", what, " ", membership.Name(peer));
  };
  absl::StatusOr<std::shared_ptr<session::Session>> session;
  absl::Status status;
  while (true) {
    session = PairSession(membership, tools, peer, deadline);
    if (!session.ok()) {
      return At(doing("could not reach an attested session with"), session.status());
    }
    status = Confirm(membership, tools, *session, peer, deadline);
    // The peer knows of a newer session a moment before this node does.
    if (base::ReasonOf(status) != session::kReplaced || absl::Now() + kRetry >= deadline ||
        !membership.cancellation().status().ok()) {
      break;
    }
    absl::SleepFor(kRetry);
  }
  if (!status.ok()) return At(doing("could not confirm the epoch with"), status);
  status = DialLanes(membership, tools, **session, peer, deadline);
  if (!status.ok()) return At(doing("could not open lanes to"), status);
  return absl::OkStatus();
}

}  // namespace

AssemblyFault Assemble(Membership& membership, const AssemblyTools& tools, absl::Time deadline) {
  std::mutex mutex;
  AssemblyFault first;
  size_t higher = membership.size() - 1 - membership.rank();
  base::RunParallel(higher, kParallel, [&](size_t i) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!first.status.ok()) return;
    }
    uint16_t peer = static_cast<uint16_t>(membership.rank() + 1 + i);
    absl::Status status = AssemblePair(membership, tools, peer, deadline);
    // The epoch's own end says more than what it interrupted.
    if (absl::Status ended = membership.cancellation().status(); !ended.ok()) status = ended;
    std::lock_guard<std::mutex> lock(mutex);
    if (!status.ok() && first.status.ok()) first = {status, peer};
  });
  if (!first.status.ok()) return first;
  return {membership.WaitAssembled(deadline), membership.rank()};
}

}  // namespace caravan::membership
