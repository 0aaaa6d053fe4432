// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/membership/epoch.h"

namespace caravan::membership {
namespace {

// How soon a joiner that left is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(50);

}  // namespace

void Rendezvous::Finish(const std::string& name, Open& open, absl::Status failure) {
  open.failure = std::move(failure);
  auto found = open_.find(name);
  if (found != open_.end() && found->second.get() == &open) open_.erase(found);
  changed_.notify_all();
}

void Rendezvous::Complete(const std::string& name, Open& open) {
  absl::StatusOr<v1::Roster> roster = open.gathering.MakeRoster(next_generation_);
  if (!roster.ok()) return Finish(name, open, roster.status());
  choose_(&*roster);
  absl::StatusOr<crypto::SecretBytes> secret = crypto::SecretBytes::Random(kEpochSecretSize);
  if (!secret.ok()) return Finish(name, open, secret.status());
  ++next_generation_;
  auto gathered = std::make_shared<Gathered>();
  gathered->roster = *std::move(roster);
  gathered->epoch = ComputeEpochId(gathered->roster);
  gathered->secret = *std::move(secret);
  open.result = std::move(gathered);
  Finish(name, open, absl::OkStatus());
}

absl::StatusOr<std::shared_ptr<const Gathered>> Rendezvous::Join(
    Joiner joiner, absl::Time deadline, const std::function<bool()>& cancelled) {
  if (absl::Status status = CheckJoin(joiner.request); !status.ok()) return status;
  const std::string name = joiner.request.communicator();
  const std::string who = JoinerName(joiner.request);
  const uint32_t rank = joiner.request.rank();
  const absl::Time begun = absl::Now();

  std::unique_lock<std::mutex> lock(mutex_);
  if (!stopped_.ok()) return stopped_;
  std::shared_ptr<Open>& slot = open_[name];
  if (slot == nullptr) {
    if (open_.size() > max_open_) {
      open_.erase(name);
      return absl::ResourceExhaustedError(
          absl::StrCat(max_open_, " communicators are being made already: try again later"));
    }
    slot = std::make_shared<Open>();
  }
  std::shared_ptr<Open> open = slot;  // `slot` may go away while we wait
  const uint64_t ticket = next_ticket_++;
  absl::Status added = open->gathering.Add(std::move(joiner), ticket);
  if (!added.ok()) {
    Finish(name, *open, added);
    return added;
  }
  if (open->gathering.complete()) Complete(name, *open);

  while (!open->done()) {
    if (!open->gathering.Holds(rank, ticket)) {
      return absl::AbortedError(absl::StrCat(who, " joined again: this request is given up"));
    }
    absl::Time now = absl::Now();
    if (cancelled()) {
      Finish(name, *open,
             absl::AbortedError(
                 absl::StrCat(who, " left before all had joined: ", open->gathering.Missing())));
    } else if (now >= deadline) {
      Finish(name, *open,
             absl::DeadlineExceededError(
                 absl::StrCat(who, " waited ",
                              absl::FormatDuration(absl::Trunc(now - begun, absl::Milliseconds(1))),
                              ": ", open->gathering.Missing())));
    } else {
      changed_.wait_for(lock, absl::ToChronoMilliseconds(std::min(kPoll, deadline - now) +
                                                         absl::Milliseconds(1)));
    }
  }
  if (!open->failure.ok()) return open->failure;
  return open->result;
}

bool Rendezvous::HasRoot(const std::string& communicator) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = open_.find(communicator);
  return found != open_.end() && found->second->gathering.HasRank(0);
}

void Rendezvous::Stop(absl::Status reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = reason;
  while (!open_.empty()) {
    std::shared_ptr<Open> open = open_.begin()->second;
    Finish(open_.begin()->first, *open, reason);
  }
}

}  // namespace caravan::membership
