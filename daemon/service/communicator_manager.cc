// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/communicator_manager.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/reason.h"
#include "collective/cost/selector.h"
#include "daemon/session/reasons.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::service {
namespace {

constexpr int kWorkers = 8;
constexpr absl::Duration kReplaceWait = absl::Milliseconds(50);

// The suites that this node can seal and open, best first.
std::vector<uint32_t> OfferedSuites() {
  return {static_cast<uint32_t>(crypto::Suite::kAes256Gcm),
          static_cast<uint32_t>(crypto::Suite::kChaCha20Poly1305)};
}

// How long one address that a store gave is tried.
constexpr absl::Duration kFoundRootConnect = absl::Seconds(3);

// The root gives up a little before the joiner does, so that its reason arrives.
absl::Duration RootTimeout(absl::Duration left) {
  return left - std::min(absl::Milliseconds(500), left / 5);
}

absl::StatusOr<std::shared_ptr<engine::SharedMemory>> MakeRing(uint32_t rank, uint32_t size) {
  auto memory = engine::SharedMemory::Create("caravan-ring", sizeof(v1::SharedRing));
  if (!memory.ok()) return memory.status();
  auto* ring = new ((*memory)->data()) v1::SharedRing{};
  ring->magic = v1::kRingMagic;
  ring->version = v1::kRingVersion;
  ring->capacity = v1::kRingCapacity;
  ring->rank = rank;
  ring->size = size;
  return memory;
}

}  // namespace

CommunicatorManager::CommunicatorManager(Options options)
    : options_(std::move(options)),
      finder_(options_.store),
      rendezvous_(options_.max_communicators,
                  [this](v1::Roster* roster) {
                    membership::ChooseForAll(
                        options_.facts,
                        [this](const crypto::SessionId& id) {
                          const auto session = options_.tools.sessions->Find(id);
                          return session == nullptr ? absl::ZeroDuration() : session->round_trip();
                        },
                        roster);
                  }),
      workers_(kWorkers),
      arbiter_({.epochs = &epochs_,
                .engine = options_.engine,
                .workers = &workers_,
                .peer = [this](const membership::Membership& m, uint16_t rank,
                               absl::Time deadline) { return MemberClient(m, rank, deadline); },
                .try_for = options_.arbitration_try}) {}

CommunicatorManager::~CommunicatorManager() { Stop(); }

std::shared_ptr<membership::PeerClient> CommunicatorManager::MemberClient(
    const membership::Membership& membership, uint16_t rank, absl::Time deadline) const {
  // A newer session serves as well: it is with the same node.
  auto spki = membership::ToArray<32>(membership.roster().members(rank).spki(), "spki");
  std::shared_ptr<session::Session> session =
      spki.ok() ? options_.tools.sessions->FindPeer(*spki) : nullptr;
  // Two members whose only session broke still have to agree why: a new one, where it can be had.
  if (session == nullptr && spki.ok()) {
    auto made = options_.tools.sessions->Connect(
        membership.roster().members(rank).control_address(), deadline);
    if (made.ok() && (*made)->peer_spki() == *spki) session = *made;
  }
  return session == nullptr ? nullptr : options_.tools.peer(*session);
}

absl::StatusOr<std::shared_ptr<CommunicatorManager::Communicator>> CommunicatorManager::Reserve(
    const std::shared_ptr<local::Application>& application, const CreateOptions& options) {
  auto communicator = std::make_shared<Communicator>();
  communicator->application = application;
  communicator->rank = options.rank;
  communicator->who = absl::StrCat("rank ", options.rank, " (", options_.node, ")");
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return absl::UnavailableError("the daemon is stopping");
  // EndApplication() looks under the same lock: what it does not see is refused here.
  if (application->ended) return absl::AbortedError("the application has ended");
  if (communicators_.size() >= options_.max_communicators) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this node has ", options_.max_communicators,
                     " communicators already (limits.max_communicators)"));
  }
  communicator->handle = next_handle_++;
  communicators_[communicator->handle] = communicator;
  return communicator;
}

absl::StatusOr<membership::Lineage> CommunicatorManager::Trace(
    const local::Application& application, CreateOptions* options) const {
  auto parent = Find(application, options->parent);
  if (!parent.ok()) return parent.status();
  if (!options->name.empty() || !options->root_address.empty()) {
    return absl::InvalidArgumentError("name, root_address: are the parent's to give");
  }
  const membership::Membership& membership = *(*parent)->membership;
  auto lineage = membership::TraceLineage(membership.roster(), membership.epoch(), (*parent)->rank,
                                          options->members, options->rank);
  if (!lineage.ok()) return lineage.status();
  options->ranks_per_node = lineage->ranks_per_node;
  options->name = lineage->name;
  options->root_address = lineage->root_address;
  options->size = static_cast<uint32_t>(options->members.size());
  return lineage;
}

absl::StatusOr<CommunicatorManager::Created> CommunicatorManager::Create(
    const std::shared_ptr<local::Application>& application, CreateOptions options) {
  const absl::Time deadline = absl::Now() + options.timeout;
  std::optional<membership::Lineage> lineage;
  if (options.parent != 0) {
    auto traced = Trace(*application, &options);
    if (!traced.ok()) return traced.status();
    lineage = *std::move(traced);
  }
  absl::StatusOr<crypto::SecretBytes> contribution =
      crypto::SecretBytes::Random(membership::kContributionSize);
  if (!contribution.ok()) return contribution.status();
  const uint32_t per_node = options.ranks_per_node;
  if (per_node < 1 || per_node > membership::kMaxRanksPerNode || options.size % per_node != 0) {
    return absl::InvalidArgumentError(absl::StrCat("ranks_per_node: ", per_node, " is not 1 to ",
                                                   membership::kMaxRanksPerNode,
                                                   ", or does not divide the size ", options.size));
  }
  v1::JoinRequest request;
  request.set_communicator(options.name);
  request.set_rank(options.rank / per_node);
  request.set_size(options.size / per_node);
  request.set_ranks_per_node(per_node);
  // The contribution is no secret: it only makes the epoch's name one of a kind.
  request.set_contribution(reinterpret_cast<const char*>(contribution->Expose().data()),
                           contribution->size());
  request.set_control_address(options_.control_address);
  request.set_data_address(options_.data_address);
  for (uint32_t suite : OfferedSuites()) request.add_suites(suite);
  request.set_chunk_log2(options.chunk_log2);
  request.set_lanes(options.lanes);
  request.set_suite(options.suite);
  request.set_timeout_ms(absl::ToInt64Milliseconds(RootTimeout(options.timeout)));
  request.set_node(options_.node);
  request.set_policy_digest(membership::ToBytes(options_.policy_digest));
  if (absl::Status status = membership::CheckJoin(request); !status.ok()) return status;
  auto communicator = Reserve(application, options);
  if (!communicator.ok()) return communicator.status();
  (*communicator)->lineage = std::move(lineage);
  absl::StatusOr<std::string> suite =
      per_node == 1 ? CreateFor(**communicator, {*communicator}, request, options, deadline)
                    : CreateTogether(*communicator, request, options, deadline);
  if (!suite.ok()) {
    Forget((*communicator)->handle);
    return suite.status();
  }
  return Created{(*communicator)->handle, *suite};
}

absl::StatusOr<std::string> CommunicatorManager::CreateFor(Communicator& lead, const Seats& seats,
                                                           const v1::JoinRequest& request,
                                                           const CreateOptions& options,
                                                           absl::Time deadline) {
  absl::StatusOr<Joined> joined = JoinAnywhere(lead, request, options, deadline);
  if (!joined.ok()) return joined.status();
  std::string suite = membership::SuiteText(joined->roster.suite());
  absl::Status status = Establish(lead, seats, options, *std::move(joined), deadline);
  if (!status.ok()) return status;
  return suite;
}

absl::StatusOr<std::string> CommunicatorManager::CreateTogether(
    const std::shared_ptr<Communicator>& communicator, const v1::JoinRequest& request,
    const CreateOptions& options, absl::Time deadline) {
  LocalParties::Guest guest;
  guest.party = absl::StrCat(request.rank(), " of ", options.name);
  guest.terms = absl::StrCat(
      options.size, " ranks, ", options.ranks_per_node, " a node, chunks of 2^", options.chunk_log2,
      " bytes, ", options.lanes, " lanes, suite \"", options.suite, "\", deadline ",
      absl::FormatDuration(options.deadline), ", root \"", options.root_address, "\"");
  guest.first_rank = request.rank() * options.ranks_per_node;
  guest.ranks = options.ranks_per_node;
  guest.rank = options.rank;
  guest.seat = communicator;
  return parties_.Join(
      guest, deadline,
      [&](const std::vector<std::shared_ptr<LocalSeat>>& all) -> absl::StatusOr<std::string> {
        Communicator lead;
        lead.who = membership::JoinerName(request);
        lead.lineage = communicator->lineage;
        Seats seats;
        std::deque<membership::Cancellation::Hook> hooks;
        for (const std::shared_ptr<LocalSeat>& seat : all) {
          seats.push_back(std::static_pointer_cast<Communicator>(seat));
          hooks.emplace_back(seat->cancellation, [&lead, who = seats.back()->who] {
            lead.cancellation.Cancel(absl::AbortedError(absl::StrCat(who, ": application ended")));
          });
        }
        return CreateFor(lead, seats, request, options, deadline);
      });
}

absl::StatusOr<CommunicatorManager::Joined> CommunicatorManager::JoinAnywhere(
    Communicator& communicator, const v1::JoinRequest& request, const CreateOptions& options,
    absl::Time deadline) {
  // Rank 0 of applications that all name its address needs no store.
  const bool by_store =
      options.root_address.empty() && (request.rank() != 0 || options_.store != nullptr);
  std::unique_ptr<store::Claim> entry;
  if (by_store) {
    auto entered = finder_.Enter(options.name, request.rank(), options_.control_address, deadline,
                                 communicator.cancellation);
    if (!entered.ok()) return entered.status();
    entry = *std::move(entered);
  }
  if (request.rank() == 0) {
    auto joined = JoinAtRoot(communicator, request, deadline);
    if (!by_store || !absl::IsDeadlineExceeded(joined.status())) return joined;
    return absl::DeadlineExceededError(
        absl::StrCat(joined.status().message(), "; ", finder_.DescribeMembers(options.name)));
  }
  if (!by_store) {
    return JoinRemote(communicator, request, options, options.root_address, deadline);
  }
  v1::JoinRequest found = request;
  found.set_by_store(true);
  return finder_.JoinRoot(options.name, deadline, communicator.cancellation,
                          [&](const std::string& root_address) {
                            return JoinRemote(communicator, found, options, root_address, deadline);
                          });
}

absl::StatusOr<CommunicatorManager::Joined> CommunicatorManager::JoinAtRoot(
    Communicator& communicator, const v1::JoinRequest& request, absl::Time deadline) {
  membership::Joiner self{request, options_.tools.sessions->local_spki(), crypto::SessionId{}};
  auto gathered = rendezvous_.Join(std::move(self), deadline,
                                   [&] { return !communicator.cancellation.status().ok(); });
  if (absl::Status ended = communicator.cancellation.status(); !ended.ok()) return ended;
  if (!gathered.ok()) return gathered.status();
  Joined joined{(*gathered)->roster, (*gathered)->epoch, {}, nullptr};
  auto secret = (*gathered)->secret.Clone();
  if (!secret.ok()) return secret.status();
  joined.secret = *std::move(secret);
  return joined;
}

absl::StatusOr<CommunicatorManager::Joined> CommunicatorManager::JoinRemote(
    Communicator& communicator, const v1::JoinRequest& request, const CreateOptions& options,
    const std::string& root_address, absl::Time deadline) {
  if (root_address == options_.control_address) {
    const std::string text =
        absl::StrCat("root_address: ", root_address, " is this node itself, but rank ",
                     options.rank, " is not on the root's node: ranks_per_node says how many are");
    // A store may still hold what this node wrote as the root that it was.
    return request.by_store() ? absl::UnavailableError(text) : absl::InvalidArgumentError(text);
  }
  // A root that a store named and that is silent may have been followed by another.
  const absl::Time connect_by =
      request.by_store() ? std::min(deadline, absl::Now() + kFoundRootConnect) : deadline;
  auto at_root = [&](const absl::Status& status) {
    const bool silent = absl::IsDeadlineExceeded(status) && connect_by < deadline;
    return absl::Status(silent ? absl::StatusCode::kUnavailable : status.code(),
                        absl::StrCat(communicator.who, " could not reach the root at ",
                                     root_address, ": ", status.message()));
  };
  absl::StatusOr<std::shared_ptr<session::Session>> session;
  v1::JoinReply reply;
  while (true) {
    session = options_.tools.sessions->Connect(root_address, connect_by);
    if (!session.ok()) return at_root(session.status());
    std::shared_ptr<membership::PeerClient> root = options_.tools.peer(**session);
    if (root == nullptr) return at_root(absl::UnavailableError("the session has closed"));

    v1::JoinRequest timed = request;
    absl::Duration left = std::max(deadline - absl::Now(), absl::Milliseconds(1));
    timed.set_timeout_ms(absl::ToInt64Milliseconds(RootTimeout(left)));
    absl::Status status = root->Join(timed, &reply, deadline, &communicator.cancellation);
    if (status.ok()) break;
    // Its own answer to a rank that has waited in vain comes before.
    if (absl::IsDeadlineExceeded(status) && absl::Now() >= deadline) {
      return at_root(absl::DeadlineExceededError("it does not answer"));
    }
    // The root knows of a newer session a moment before this node does.
    if (base::ReasonOf(status) != session::kReplaced || absl::Now() + kReplaceWait >= deadline) {
      return status;
    }
    absl::SleepFor(kReplaceWait);
  }

  membership::OwnPart own;
  own.communicator = options.name;
  own.rank = request.rank();
  own.size = request.size();
  own.ranks_per_node = options.ranks_per_node;
  own.spki = options_.tools.sessions->local_spki();
  own.root_session = (*session)->id();
  own.contribution = request.contribution();
  own.suites.assign(request.suites().begin(), request.suites().end());
  own.policy_digest = options_.policy_digest;
  own.chunk_log2 = options.chunk_log2;
  own.lanes = options.lanes;
  own.suite = options.suite;
  absl::Status status = membership::CheckRosterFor(reply.roster(), own, (*session)->peer_spki());
  if (!status.ok()) return status;
  Joined joined{reply.roster(), membership::ComputeEpochId(reply.roster()), {}, *session};
  auto secret = membership::UnwrapEpochSecret(reply.wrapped_secret(), (*session)->secret(),
                                              joined.epoch, static_cast<uint16_t>(request.rank()));
  if (!secret.ok()) return secret.status();
  joined.secret = *std::move(secret);
  return joined;
}

absl::Status CommunicatorManager::Establish(Communicator& lead, const Seats& seats,
                                            const CreateOptions& options, Joined joined,
                                            absl::Time deadline) {
  const uint32_t member = options.rank / options.ranks_per_node;
  auto membership = std::make_shared<membership::Membership>(
      std::move(joined.roster), static_cast<uint16_t>(member), joined.epoch,
      std::move(joined.secret));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::shared_ptr<Communicator>& seat : seats) seat->membership = membership;
  }
  if (absl::Status status = epochs_.Add(membership); !status.ok()) return status;
  // An application that ended before its epoch was known has not been reported to the others.
  membership::AssemblyFault fault{lead.cancellation.status(), membership->rank()};
  if (fault.status.ok() && lead.lineage.has_value()) {
    fault.status = membership::CheckLineage(*lead.lineage, membership->roster());
  }
  if (fault.status.ok()) fault = membership::Assemble(*membership, options_.tools, deadline);
  if (fault.status.ok()) {
    fault = {StartGroup(seats, *membership, options), membership->rank()};
  }
  if (fault.status.ok()) return absl::OkStatus();
  absl::Status agreed = arbiter_.Arbitrate(
      membership, membership::MakeReport(fault.status, membership->rank(), fault.peer));
  options_.engine->Remove(membership->epoch());
  epochs_.Retire(membership->epoch());
  return agreed;
}

absl::Status CommunicatorManager::StartGroup(const Seats& seats, membership::Membership& membership,
                                             const CreateOptions& options) {
  engine::GroupConfig group;
  group.deadline = options.deadline;
  auto selector = collective::ParseSelectorTable(membership.roster().selector_table());
  if (!selector.ok()) return selector.status();
  group.selector = *std::move(selector);
  group.on_fault = [this, epoch = membership.epoch()](engine::Fault fault) {
    arbiter_.OnFault(epoch, std::move(fault));
  };
  if (absl::Status status = membership.FillGroup(&group); !status.ok()) return status;
  std::vector<std::shared_ptr<engine::SharedMemory>> rings;
  for (const std::shared_ptr<Communicator>& seat : seats) {
    auto ring = MakeRing(seat->rank, options.size);
    const int wake_fd = ring.ok() ? fcntl(seat->application->wake_fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (wake_fd < 0) {
      absl::Status status = ring.status();
      if (ring.ok()) status = absl::ErrnoToStatus(errno, "cannot duplicate the wake eventfd");
      for (const engine::LocalRank& local : group.local) close(local.wake_fd);
      return status;
    }
    rings.push_back(*ring);
    group.local.push_back({*std::move(ring), seat->application->buffers, wake_fd, seat->left});
  }
  if (absl::Status status = options_.engine->AddGroup(std::move(group)); !status.ok()) {
    return status;
  }
  // An end that was decided before the engine knew the group has not reached it.
  if (auto decided = membership.decided()) return membership::ToStatus(*decided);
  {
    // End() reads `ring` under the same lock: it either sees a communicator that stands, or this
    // sees its reason.
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::shared_ptr<Communicator>& seat : seats) {
      if (absl::Status ended = seat->cancellation.status(); !ended.ok()) return ended;
    }
    for (size_t k = 0; k < seats.size(); ++k) seats[k]->ring = std::move(rings[k]);
  }
  base::Log(base::Level::kInfo, "communicator stands",
            {{"name", options.name},
             {"rank", seats.front()->rank},
             {"ranks here", seats.size()},
             {"size", options.size},
             {"epoch", membership::ShortHex(membership.epoch())},
             {"suite", membership::SuiteText(membership.roster().suite())}});
  return absl::OkStatus();
}

}  // namespace caravan::service
