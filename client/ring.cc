// SPDX-License-Identifier: Apache-2.0
#include "client/ring.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace caravan::client {
namespace {

using v1::kRingCapacity;

constexpr uint32_t kHighestStatusCode = 16;  // absl::StatusCode::kUnauthenticated

// Small operations complete within the spin. It yields at every turn: the daemon may need this very
// core.
constexpr int64_t kSpinNanos = 20'000;
// Bounds the cost of a wake that got lost, as both sides may write the futex word at a failure.
constexpr absl::Duration kLongestSleep = absl::Seconds(1);

int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void FutexWait(std::atomic<uint32_t>& word, uint32_t seen, absl::Duration limit) {
  const timespec relative = absl::ToTimespec(limit);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &relative, nullptr, 0);
}

void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Reads a plain field of shared memory exactly once.
template <typename T>
T ReadOnce(T& field) {
  return std::atomic_ref<T>(field).load(std::memory_order_relaxed);
}

absl::Status Garbage(const std::string& what) {
  return absl::InternalError(absl::StrCat("the daemon broke the ring: ", what));
}

}  // namespace

Ring::Ring(std::unique_ptr<Mapping> memory, int wake_fd)
    : memory_(std::move(memory)),
      shared_(*reinterpret_cast<v1::SharedRing*>(memory_->data())),
      wake_fd_(wake_fd) {}

absl::StatusOr<std::shared_ptr<Work::Impl>> Ring::Open(std::unique_ptr<Mapping> memory, int rank,
                                                       int size, int wake_fd) {
  if (memory->size() < sizeof(v1::SharedRing)) {
    return Garbage(
        absl::StrCat("it has ", memory->size(), " bytes, expected ", sizeof(v1::SharedRing)));
  }
  auto ring = std::make_shared<Work::Impl>(std::move(memory), wake_fd);
  v1::SharedRing& shared = ring->shared_;
  const uint32_t version = ReadOnce(shared.version);
  if (ReadOnce(shared.magic) != v1::kRingMagic) return Garbage("its magic is wrong");
  if (version != v1::kRingVersion) {
    return Garbage(
        absl::StrCat("its version is ", version, ", this library has ", v1::kRingVersion));
  }
  const uint32_t capacity = ReadOnce(shared.capacity);
  if (capacity != kRingCapacity) {
    return Garbage(absl::StrCat("its capacity is ", capacity, ", expected ", kRingCapacity));
  }
  const uint32_t its_rank = ReadOnce(shared.rank);
  const uint32_t its_size = ReadOnce(shared.size);
  if (its_rank != static_cast<uint32_t>(rank) || its_size != static_cast<uint32_t>(size)) {
    return Garbage(absl::StrCat("it is for rank ", its_rank, " of ", its_size, ", asked for rank ",
                                rank, " of ", size));
  }
  return ring;
}

absl::StatusOr<uint64_t> Ring::Submit(v1::SubmitEntry entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  Gather();
  if (!failure_.ok()) return failure_;
  if (submitted_ - completed_ >= kRingCapacity) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kRingCapacity, " operations are outstanding; wait for one first"));
  }
  entry.id = submitted_;
  shared_.entries[submitted_ % kRingCapacity] = entry;
  ++submitted_;
  // Both sequentially consistent: either the daemon sees the entry before it sleeps, or we see
  // that it sleeps.
  shared_.submit_tail.store(submitted_, std::memory_order_seq_cst);
  if (shared_.daemon_sleeping.load(std::memory_order_seq_cst) != 0) {
    const uint64_t one = 1;
    // A full counter wakes as well; a daemon that is gone is noticed on memory.sock.
    [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
  }
  return entry.id;
}

void Ring::SetFailure(const absl::Status& reason) {
  if (!failure_.ok()) return;
  failure_ = reason;
  failed_.store(true, std::memory_order_release);
}

void Ring::Gather() {
  // The failure is read before the completions, so that no success that came before it is missed.
  uint32_t code = shared_.failed.load(std::memory_order_acquire);
  const uint64_t tail = shared_.complete_tail.load(std::memory_order_acquire);
  if (!failure_.ok()) return;
  if (tail < completed_ || tail > submitted_) {
    SetFailure(Garbage(absl::StrCat("it reports ", tail, " completions of ", submitted_,
                                    " operations, after ", completed_)));
    return;
  }
  uint32_t worst = 0;
  while (completed_ < tail) {
    v1::CompletionEntry& entry = shared_.completions[completed_ % kRingCapacity];
    const uint64_t id = ReadOnce(entry.id);
    const uint32_t outcome = ReadOnce(entry.code);
    if (id != completed_ || outcome > kHighestStatusCode) {
      SetFailure(
          Garbage(absl::StrCat("completion ", completed_, " has id ", id, " and code ", outcome)));
      return;
    }
    ++completed_;
    if (outcome != 0 && worst == 0) worst = outcome;
    if (worst == 0) succeeded_ = completed_;
  }
  // The daemon marks the ring before it fails an operation.
  if (worst != 0) code = shared_.failed.load(std::memory_order_acquire);
  if (code != 0) {
    SetFailure(ReportedFailure(code));
  } else if (worst != 0) {
    SetFailure(absl::Status(static_cast<absl::StatusCode>(worst),
                            "the daemon failed the operation without a reason"));
  }
}

absl::Status Ring::ReportedFailure(uint32_t code) {
  const uint32_t size = ReadOnce(shared_.reason_size);
  if (code > kHighestStatusCode || size > v1::kReasonCapacity) {
    return Garbage(
        absl::StrCat("its failure has code ", code, " and a reason of ", size, " bytes"));
  }
  return absl::Status(static_cast<absl::StatusCode>(code), std::string(shared_.reason, size));
}

std::optional<absl::Status> Ring::Outcome(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  Gather();
  if (id < succeeded_) return absl::OkStatus();
  if (!failure_.ok()) return failure_;
  if (id >= submitted_) return absl::InvalidArgumentError("this operation was never submitted");
  return std::nullopt;
}

bool Ring::Changed(uint64_t id) const {
  return shared_.complete_tail.load(std::memory_order_acquire) > id ||
         shared_.failed.load(std::memory_order_relaxed) != 0 ||
         failed_.load(std::memory_order_acquire);
}

absl::Status Ring::Wait(uint64_t id, absl::Time deadline) {
  if (auto outcome = Outcome(id)) return *outcome;
  const int64_t spin_end = MonotonicNanos() + kSpinNanos;
  while (!Changed(id) && MonotonicNanos() < spin_end) {
    sched_yield();
  }
  while (true) {
    // The word is read before the state: a change in between makes the wait return at once.
    const uint32_t seen = shared_.complete_futex.load(std::memory_order_seq_cst);
    if (auto outcome = Outcome(id)) return *outcome;
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("operation ", id, " has not completed by the deadline; it goes on"));
    }
    FutexWait(shared_.complete_futex, seen, std::min(left, kLongestSleep));
  }
}

bool Ring::Done(uint64_t id) { return Outcome(id).has_value(); }

absl::Status Ring::Failure() {
  std::lock_guard<std::mutex> lock(mutex_);
  Gather();
  return failure_;
}

void Ring::Fail(const absl::Status& reason) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Gather();  // what the daemon had finished or failed by now stands
    SetFailure(reason);
  }
  shared_.complete_futex.fetch_add(1, std::memory_order_seq_cst);
  FutexWakeAll(shared_.complete_futex);
}

}  // namespace caravan::client
