// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/epoch_table.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/membership/epoch.h"

namespace caravan::membership {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr size_t kGenerations = 4096;

}  // namespace

absl::Status EpochTable::Add(std::shared_ptr<Membership> membership) {
  const v1::Roster& roster = membership->roster();
  auto root = ToArray<32>(roster.members(0).spki(), "spki");
  if (!root.ok()) return root.status();
  std::lock_guard<std::mutex> lock(mutex_);
  if (live_.count(membership->epoch()) != 0 || ended_.count(membership->epoch()) != 0) {
    return absl::AlreadyExistsError("the roster repeats an earlier epoch");
  }
  Generation key{*root, roster.communicator()};
  auto [entry, is_new] = generations_.emplace(key, 0);
  if (!is_new && entry->second >= roster.generation()) {
    return absl::FailedPreconditionError(
        absl::StrCat("generation ", roster.generation(), " of communicator ", key.communicator,
                     " is not after ", entry->second, ", which was confirmed before"));
  }
  entry->second = roster.generation();
  if (is_new) {
    generation_order_.push_back(key);
    if (generation_order_.size() > kGenerations) {
      generations_.erase(generation_order_.front());
      generation_order_.pop_front();
    }
  }
  live_[membership->epoch()] = std::move(membership);
  added_.notify_all();
  return absl::OkStatus();
}

std::shared_ptr<Membership> EpochTable::Find(const crypto::EpochId& epoch) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = live_.find(epoch); found != live_.end()) return found->second;
  auto found = ended_.find(epoch);
  return found == ended_.end() ? nullptr : found->second;
}

std::shared_ptr<Membership> EpochTable::WaitFor(const crypto::EpochId& epoch, absl::Time deadline,
                                                const std::function<bool()>& cancelled) const {
  while (true) {
    if (std::shared_ptr<Membership> membership = Find(epoch)) return membership;
    absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration() || cancelled()) return nullptr;
    std::unique_lock<std::mutex> lock(mutex_);
    if (live_.count(epoch) != 0) continue;
    added_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, kPoll)));
  }
}

void EpochTable::Retire(const crypto::EpochId& epoch) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = live_.find(epoch);
  if (found == live_.end()) return;
  ended_[epoch] = std::move(found->second);
  live_.erase(found);
  ended_order_.push_back(epoch);
  if (ended_order_.size() > kRemembered) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

std::vector<std::shared_ptr<Membership>> EpochTable::Live() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Membership>> out;
  for (const auto& [epoch, membership] : live_) out.push_back(membership);
  return out;
}

}  // namespace caravan::membership
