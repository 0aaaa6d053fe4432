// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/reactor.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What an epoll event refers to: a lane (its address, even), the reactor's own eventfd, or an
// application's.
uint64_t TagOf(const Lane* lane) { return reinterpret_cast<uint64_t>(lane); }
constexpr uint64_t kPostTag = 1;
constexpr uint64_t kWakeTag = 3;

// Pieces of work ahead, each the derivation of a key, between two looks at the sockets: enough that
// looking is not most of the work, few enough that no record waits for long.
constexpr int kPiecesATurn = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<Reactor>> Reactor::Start(absl::Duration spin) {
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  const int post_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kPostTag;
  if (epoll_fd < 0 || post_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, post_fd, &event) != 0) {
    auto status = absl::ResourceExhaustedError(
        absl::StrCat("no descriptors for an engine: ", std::strerror(errno)));
    if (epoll_fd >= 0) close(epoll_fd);
    if (post_fd >= 0) close(post_fd);
    return status;
  }
  return std::unique_ptr<Reactor>(new Reactor(spin, epoll_fd, post_fd));
}

Reactor::Reactor(absl::Duration spin, int epoll_fd, int post_fd)
    : spin_ns_(absl::ToInt64Nanoseconds(spin)),
      epoll_fd_(epoll_fd),
      post_fd_(post_fd),
      thread_([this] { Run(); }) {}

Reactor::~Reactor() {
  Stop();
  close(epoll_fd_);
  close(post_fd_);
}

bool Reactor::Post(Task task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) return false;
    tasks_.push_back(std::move(task));
  }
  posted_.store(true);
  const uint64_t one = 1;
  (void)!write(post_fd_, &one, sizeof(one));
  return true;
}

bool Reactor::Call(const Task& task) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    task();
    return true;
  }
  std::mutex mutex;
  std::condition_variable ran;
  bool done = false;
  const bool posted = Post([&] {
    task();
    // Notified under the lock: the waiter's frame goes away as soon as it sees `done`.
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
    ran.notify_one();
  });
  if (!posted) return false;
  std::unique_lock<std::mutex> lock(mutex);
  ran.wait(lock, [&] { return done; });
  return true;
}

bool Reactor::RunPosted() {
  if (!posted_.exchange(false)) return false;
  std::vector<Task> tasks;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
  return true;
}

Group* Reactor::Find(const crypto::EpochId& epoch) {
  for (const std::unique_ptr<Group>& group : groups_) {
    if (group->epoch() == epoch) return group.get();
  }
  return nullptr;
}

absl::Status Reactor::Watch(std::unique_ptr<Group>& group) {
  if (Find(group->epoch()) != nullptr) {
    return absl::AlreadyExistsError("the epoch is served already");
  }
  epoll_event event{};
  bool added = true;
  for (const int wake_fd : group->wake_fds()) {
    // Edge-triggered and never read: an application shares the descriptor's flags, and could make a
    // read block.
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = kWakeTag;
    added &= epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd, &event) == 0;
  }
  for (const std::unique_ptr<Lane>& lane : group->lanes()) {
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = TagOf(lane.get());
    added &= epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, lane->fd, &event) == 0;
  }
  if (!added) {
    auto status = absl::ResourceExhaustedError(
        absl::StrCat("epoll does not take the communicator's sockets: ", std::strerror(errno)));
    for (const int wake_fd : group->wake_fds()) {
      epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, wake_fd, nullptr);
    }
    group.reset();
    return status;
  }
  groups_.push_back(std::move(group));
  return absl::OkStatus();
}

absl::Status Reactor::Serve(std::unique_ptr<Group> group) {
  absl::Status status;
  if (!Call([&] { status = Watch(group); })) {
    return absl::FailedPreconditionError("the engine has stopped");
  }
  return status;
}

void Reactor::Fail(const crypto::EpochId& epoch, const absl::Status& reason) {
  Post([this, epoch, reason] {
    if (Group* group = Find(epoch)) group->Fail(reason);
  });
}

bool Reactor::Remove(const crypto::EpochId& epoch) {
  bool removed = false;
  Call([&] {
    for (auto it = groups_.begin(); it != groups_.end(); ++it) {
      if ((*it)->epoch() != epoch) continue;
      (*it)->Fail(absl::CancelledError("the communicator was ended"));
      for (const int wake_fd : (*it)->wake_fds()) {
        epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, wake_fd, nullptr);
      }
      groups_.erase(it);
      removed = true;
      return;
    }
  });
  return removed;
}

std::vector<GroupStatus> Reactor::List() {
  std::vector<GroupStatus> list;
  Call([&] {
    for (const std::unique_ptr<Group>& group : groups_) list.push_back(group->Status());
  });
  return list;
}

absl::StatusOr<std::string> Reactor::Describe(const crypto::EpochId& epoch, uint64_t sequence) {
  absl::StatusOr<std::string> result = absl::NotFoundError("no such communicator");
  Call([&] {
    if (Group* group = Find(epoch)) result = group->Describe(sequence);
  });
  return result;
}

absl::StatusOr<Wait> Reactor::DescribeWait(const crypto::EpochId& epoch) {
  absl::StatusOr<Wait> result = absl::NotFoundError("no such communicator");
  Call([&] {
    if (Group* group = Find(epoch)) result = group->DescribeWait(NowNs());
  });
  return result;
}

void Reactor::BeginStop() {
  stopping_.store(true);
  Post([] {});
}

void Reactor::Stop() {
  BeginStop();
  std::lock_guard<std::mutex> lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void Reactor::Poll(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int n = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < n; ++i) {
    const uint64_t tag = events[i].data.u64;
    if (tag == kPostTag) {
      uint64_t count;
      (void)!read(post_fd_, &count, sizeof(count));
    }
    if ((tag & 1) != 0) continue;
    Lane& lane = *reinterpret_cast<Lane*>(tag);
    const uint32_t what = events[i].events;
    if ((what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) lane.hung_up = true;
    if ((what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) lane.readable = true;
    if ((what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) lane.writable = true;
  }
}

bool Reactor::TurnAll() {
  bool moved = RunPosted();
  Poll(0);
  const int64_t now = NowNs();
  for (const std::unique_ptr<Group>& group : groups_) moved |= group->Turn(now);
  return moved;
}

bool Reactor::WorkAhead() {
  bool worked = false;
  for (const std::unique_ptr<Group>& group : groups_) {
    for (int piece = 0; piece < kPiecesATurn && group->WorkAhead(); ++piece) worked = true;
  }
  return worked;
}

void Reactor::Sleep() {
  for (const std::unique_ptr<Group>& group : groups_) group->SetSleeping(true);
  // An application that did not see the flag has stored its index before: it is seen here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool stay_awake = posted_.load();
  int64_t until = INT64_MAX;
  for (const std::unique_ptr<Group>& group : groups_) {
    stay_awake |= group->HasSubmissions();
    until = std::min(until, group->deadline_ns());
  }
  if (!stay_awake) {
    constexpr int64_t kLongestNs = 60'000'000'000;
    const int64_t wait =
        std::clamp<int64_t>(until == INT64_MAX ? kLongestNs : until - NowNs(), 0, kLongestNs);
    Poll(static_cast<int>((wait + 999'999) / 1'000'000));
  }
  for (const std::unique_ptr<Group>& group : groups_) group->SetSleeping(false);
}

void Reactor::Run() {
  int64_t idle_since = NowNs();
  while (!stopping_.load()) {
    if (TurnAll()) {
      idle_since = NowNs();
    } else if (WorkAhead()) {
      continue;
    } else if (NowNs() - idle_since < spin_ns_) {
      sched_yield();
    } else {
      Sleep();
    }
  }
  for (const std::unique_ptr<Group>& group : groups_) {
    group->Fail(absl::CancelledError("the daemon is stopping"));
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  posted_.store(true);
  RunPosted();
  groups_.clear();
}

}  // namespace caravan::engine
