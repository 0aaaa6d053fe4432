// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::client {

absl::StatusOr<std::shared_ptr<Connection>> Connection::Open(const std::string& runtime_dir,
                                                             absl::Duration timeout) {
  auto memory = MemoryClient::Connect(absl::StrCat(runtime_dir, "/memory.sock"), timeout);
  if (!memory.ok()) return memory.status();
  auto workload = WorkloadClient::Connect(absl::StrCat(runtime_dir, "/workload.sock"),
                                          (*memory)->token(), timeout);
  if (!workload.ok()) return workload.status();
  base::Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("making an eventfd: ", strerror(errno)));
  }
  return std::shared_ptr<Connection>(
      new Connection(runtime_dir, *std::move(memory), *std::move(workload), std::move(stop)));
}

Connection::Connection(std::string runtime_dir, std::unique_ptr<MemoryClient> memory,
                       std::unique_ptr<WorkloadClient> workload, base::Descriptor stop)
    : runtime_dir_(std::move(runtime_dir)),
      memory_(std::move(memory)),
      workload_(std::move(workload)),
      stop_(std::move(stop)),
      watcher_([this] { WatchDaemon(); }) {}

Connection::~Connection() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  watcher_.join();
}

void Connection::WatchDaemon() {
  // Answers on memory.sock belong to who asked: only its end is of interest here.
  pollfd fds[2] = {{memory_->fd(), POLLRDHUP, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(fds, 2, -1) < 0 && errno == EINTR) {
  }
  if (fds[1].revents != 0) return;
  std::vector<std::weak_ptr<Ring>> watched;
  absl::Status gone = absl::UnavailableError(
      absl::StrCat("the daemon at ", runtime_dir_, " went away; its communicators are lost"));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    gone_ = gone;
    watched.swap(watched_);
  }
  for (const auto& weak : watched) {
    if (auto ring = weak.lock()) ring->Fail(gone);
  }
}

bool Connection::alive() {
  std::lock_guard<std::mutex> lock(mutex_);
  return gone_.ok();
}

void Connection::Watch(const std::shared_ptr<Ring>& ring) {
  absl::Status gone;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    gone = gone_;
    if (gone.ok()) {
      std::erase_if(watched_, [](const auto& weak) { return weak.expired(); });
      watched_.push_back(ring);
    }
  }
  if (!gone.ok()) ring->Fail(gone);
}

}  // namespace caravan::client
