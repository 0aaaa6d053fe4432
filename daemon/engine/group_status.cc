// SPDX-License-Identifier: Apache-2.0
//
// Group, as others see it: its deadline, whom it waits for, its figures.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/engine/group.h"
#include "daemon/engine/obstacles.h"

namespace caravan::engine {
namespace {

// Any member may ask whom this one waits for, as often as it likes, and looking takes as long as
// the plan is. What moved this lately is not looked at, the rest no more often than that.
constexpr int64_t kStillNs = 50'000'000;
constexpr int64_t kLookAgainNs = 100'000'000;

}  // namespace

int64_t Group::deadline_ns() const {
  if (state_.faulted() || !failure_.ok()) return INT64_MAX;
  const int64_t patience = absl::ToInt64Nanoseconds(state_.config().deadline);
  // Whoever submits ahead waits for what is outstanding first.
  if (!state_.window().empty()) return oldest_progress_ns() + patience;
  const int64_t since = submissions_.waiting_since_ns();
  // A lone rank never waits, but for room behind operations that have deadlines of their own.
  if (since == INT64_MAX || state_.islands().local == 1) return INT64_MAX;
  return std::max(since, state_.progress().oldest_since_ns()) + patience;
}

int64_t Group::oldest_progress_ns() const {
  return state_.progress().StillSince(state_.window().oldest().progress);
}

void Group::CheckDeadline() {
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

GroupStatus Group::Status() const {
  GroupStatus status;
  status.name = state_.config().name;
  status.epoch = state_.config().epoch;
  status.local = static_cast<uint16_t>(state_.islands().local);
  status.rank = static_cast<uint16_t>(state_.config().rank * state_.islands().local);
  status.size = static_cast<uint16_t>(state_.islands().ranks());
  status.suite = options_.ciphers->Describe(state_.config().suite);
  status.lanes = state_.lanes_per_peer();
  status.selector = state_.config().selector;
  status.operations = state_.progress().operations();
  status.expected = state_.progress().expected();
  status.counted = state_.progress().counted();
  status.tag_failures = state_.progress().tag_failures();
  status.memory_bytes = state_.memory_bytes();
  status.failure = failure_;
  return status;
}

absl::StatusOr<std::string> Group::Describe(uint64_t sequence) const {
  const Described* found = nullptr;
  for (const Described& d : described_) {
    if (d.sequence != sequence) continue;
    const bool pairwise =
        d.spec.op == collective::Operation::kSend || d.spec.op == collective::Operation::kRecv;
    if (found == nullptr || !pairwise) found = &d;
  }
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no operation with sequence ", sequence, " was submitted lately"));
  }
  return found->spec.Describe();
}

const std::vector<uint16_t>& Group::PeersWaitedFor(int64_t now_ns) {
  const int64_t progress = oldest_progress_ns();
  if (standstill_.progress_ns != progress || now_ns - standstill_.seen_ns >= kLookAgainNs) {
    standstill_ = {progress, now_ns, {}};
    for (const Obstacle& one : FindObstacles(state_)) standstill_.peers.push_back(one.peer);
  }
  return standstill_.peers;
}

absl::StatusOr<Wait> Group::DescribeWait(int64_t now_ns) {
  if (!failure_.ok()) return absl::FailedPreconditionError("the communicator has failed");
  if (state_.faulted() && state_.fault().code != absl::StatusCode::kDeadlineExceeded) {
    return absl::FailedPreconditionError("the communicator is about to fail");
  }
  Wait wait;
  if (state_.progress().oldest_since_ns() != 0)
    wait.idle = absl::Nanoseconds(now_ns - state_.progress().oldest_since_ns());
  const int64_t since = submissions_.waiting_since_ns();
  if (!state_.window().empty()) {
    const Operation& oldest = state_.window().oldest();
    wait.waits = true;
    wait.sequence = oldest.sequence;
    wait.idle = absl::Nanoseconds(now_ns - oldest_progress_ns());
    if (wait.idle >= absl::Nanoseconds(kStillNs)) wait.peers = PeersWaitedFor(now_ns);
    wait.operation = oldest.plan().spec.Describe();
  } else if (since != INT64_MAX && state_.islands().local > 1) {
    wait.waits = true;
    wait.peers = {state_.config().rank};
    wait.sequence = state_.sequences().next_collective();
    wait.idle = absl::Nanoseconds(now_ns - std::max(since, state_.progress().oldest_since_ns()));
    wait.operation = submissions_.DescribeWaiting();
  }
  return wait;
}

}  // namespace caravan::engine
