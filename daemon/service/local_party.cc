// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/local_party.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace caravan::service {
namespace {

// How soon an application that ended is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(50);

}  // namespace

std::string LocalParties::Missing(const Party& party) {
  for (size_t k = 0; k < party.seats.size(); ++k) {
    if (party.seats[k] == nullptr) {
      return absl::StrCat("rank ", party.first_rank + k, " of this node has not asked for it");
    }
  }
  return "it is being made";
}

void LocalParties::Finish(const std::string& name, Party& party,
                          absl::StatusOr<std::string> result) {
  party.result = std::move(result);
  party.done = true;
  const auto found = open_.find(name);
  if (found != open_.end() && found->second.get() == &party) open_.erase(found);
  changed_.notify_all();
}

absl::StatusOr<std::string> LocalParties::Join(const Guest& guest, absl::Time deadline,
                                               const Make& make) {
  const absl::Time begun = absl::Now();
  std::unique_lock<std::mutex> lock(mutex_);
  std::shared_ptr<Party>& entry = open_[guest.party];
  if (entry == nullptr) {
    entry = std::make_shared<Party>();
    entry->seats.resize(guest.ranks);
    entry->terms = guest.terms;
    entry->first_rank = guest.first_rank;
  }
  const std::shared_ptr<Party> party = entry;  // `entry` may go away while we wait
  const uint32_t place = guest.rank - guest.first_rank;
  if (party->terms != guest.terms || place >= party->seats.size()) {
    Finish(
        guest.party, *party,
        absl::InvalidArgumentError(absl::StrCat("rank ", guest.rank, " of this node asked for ",
                                                guest.terms, ", another one for ", party->terms)));
  } else if (party->seats[place] != nullptr) {
    Finish(guest.party, *party,
           absl::InvalidArgumentError(
               absl::StrCat("rank ", guest.rank, " is claimed twice on this node")));
  } else {
    party->seats[place] = guest.seat;
    ++party->present;
  }
  if (!party->done && party->present == party->seats.size()) {
    // From here on the name is free: whoever asks again begins another party.
    open_.erase(guest.party);
    lock.unlock();
    absl::StatusOr<std::string> result = make(party->seats);
    lock.lock();
    Finish(guest.party, *party, std::move(result));
  }
  while (!party->done) {
    const absl::Time now = absl::Now();
    const bool waits = party->present < party->seats.size();
    if (absl::Status ended = guest.seat->cancellation.status(); !ended.ok() && waits) {
      Finish(guest.party, *party, ended);
    } else if (now >= deadline && waits) {
      Finish(guest.party, *party,
             absl::DeadlineExceededError(
                 absl::StrCat("rank ", guest.rank, " waited ",
                              absl::FormatDuration(absl::Trunc(now - begun, absl::Milliseconds(1))),
                              ": ", Missing(*party))));
    } else {
      changed_.wait_for(lock, absl::ToChronoMilliseconds(kPoll));
    }
  }
  return party->result;
}

}  // namespace caravan::service
