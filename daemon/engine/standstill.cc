// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/standstill.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/engine/obstacles.h"

namespace caravan::engine {
namespace {

// Any member may ask whom this one waits for, as often as it likes, and looking takes as long as
// the plan is. What moved this lately is not looked at, the rest no more often than that.
constexpr int64_t kStillNs = 50'000'000;
constexpr int64_t kLookAgainNs = 100'000'000;

}  // namespace

int64_t Standstill::deadline_ns() const {
  const int64_t patience = absl::ToInt64Nanoseconds(state_.config().deadline);
  // Whoever submits ahead waits for what is outstanding first.
  if (!state_.window().empty()) return oldest_moved_ns() + patience;
  const int64_t since = submissions_.waiting_since_ns();
  // A lone rank never waits, but for room behind operations that have deadlines of their own.
  if (since == INT64_MAX || state_.islands().local == 1) return INT64_MAX;
  return std::max(since, state_.progress().oldest_since_ns()) + patience;
}

int64_t Standstill::oldest_moved_ns() const {
  return state_.progress().StillSince(state_.window().oldest().progress);
}

void Standstill::Check() {
  if (state_.progress().now_ns() < deadline_ns()) return;
  const std::string waited =
      absl::StrCat("no progress for ", absl::FormatDuration(state_.config().deadline), ": ");
  if (state_.window().empty()) {
    return state_.Raise(absl::StatusCode::kDeadlineExceeded, state_.config().rank, nullptr, 0, 0,
                        absl::StrCat(waited, submissions_.DescribeWaiting()), "DEADLINE");
  }
  const std::vector<Obstacle> obstacles = FindObstacles(state_);
  const Obstacle& first = obstacles.front();
  state_.Raise(absl::StatusCode::kDeadlineExceeded, first.peer, &state_.window().oldest(),
               first.phase, first.chunk, absl::StrCat(waited, first.what), "DEADLINE");
  std::vector<uint16_t> waits_for;
  if (first.peer != state_.config().rank) {
    for (const Obstacle& one : obstacles) waits_for.push_back(one.peer);
  }
  state_.TellWait(state_.config().deadline, std::move(waits_for));
}

const std::vector<uint16_t>& Standstill::PeersWaitedFor(int64_t now_ns) {
  const int64_t moved = oldest_moved_ns();
  if (seen_.moved_ns != moved || now_ns - seen_.seen_ns >= kLookAgainNs) {
    seen_ = {moved, now_ns, {}};
    for (const Obstacle& one : FindObstacles(state_)) seen_.peers.push_back(one.peer);
  }
  return seen_.peers;
}

Wait Standstill::Describe(int64_t now_ns) {
  Wait wait;
  const int64_t oldest_since = state_.progress().oldest_since_ns();
  if (oldest_since != 0) wait.idle = absl::Nanoseconds(now_ns - oldest_since);
  const int64_t since = submissions_.waiting_since_ns();
  if (!state_.window().empty()) {
    const Operation& oldest = state_.window().oldest();
    wait.waits = true;
    wait.sequence = oldest.sequence;
    wait.idle = absl::Nanoseconds(now_ns - oldest_moved_ns());
    if (wait.idle >= absl::Nanoseconds(kStillNs)) wait.peers = PeersWaitedFor(now_ns);
    wait.operation = oldest.plan().spec.Describe();
  } else if (since != INT64_MAX && state_.islands().local > 1) {
    wait.waits = true;
    wait.peers = {state_.config().rank};
    wait.sequence = state_.sequences().next_collective();
    wait.idle = absl::Nanoseconds(now_ns - std::max(since, oldest_since));
    wait.operation = submissions_.DescribeWaiting();
  }
  return wait;
}

}  // namespace caravan::engine
