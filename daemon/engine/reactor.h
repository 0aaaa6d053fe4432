// SPDX-License-Identifier: Apache-2.0
//
// One thread of the engine, with the groups that live on it: epoll over their lanes, their turns,
// sleep and wake. What others want of a group is posted to its thread.
#ifndef CARAVAN_DAEMON_ENGINE_REACTOR_H_
#define CARAVAN_DAEMON_ENGINE_REACTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/engine/group.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

// Thread-safe.
class Reactor {
 public:
  static absl::StatusOr<std::unique_ptr<Reactor>> Start(absl::Duration spin);
  ~Reactor();  // Stop()

  // Takes the group over. AlreadyExists for an epoch that is served here; FailedPrecondition once
  // stopped; ResourceExhausted.
  absl::Status Serve(std::unique_ptr<Group> group);
  // Unknown epochs are ignored.
  void Fail(const crypto::EpochId& epoch, const absl::Status& reason);
  // Ends the group, closes its lanes and forgets it. False when there is no such group.
  bool Remove(const crypto::EpochId& epoch);
  std::vector<GroupStatus> List();
  // NotFound: no such group, or what the group says.
  absl::StatusOr<std::string> Describe(const crypto::EpochId& epoch, uint64_t sequence);
  absl::StatusOr<Wait> DescribeWait(const crypto::EpochId& epoch);

  // Asks the thread to end; Stop() waits for it too. Both idempotent.
  void BeginStop();
  void Stop();

 private:
  using Task = std::function<void()>;

  Reactor(absl::Duration spin, int epoll_fd, int post_fd);
  bool Post(Task task);         // false once stopped
  bool Call(const Task& task);  // waits until it has run; runs it here on the reactor's own thread
  bool RunPosted();
  void Run();
  bool TurnAll();
  bool WorkAhead();
  void Poll(int timeout_ms);
  void Sleep();
  absl::Status Watch(std::unique_ptr<Group>& group);
  Group* Find(const crypto::EpochId& epoch);

  const int64_t spin_ns_;
  const int epoll_fd_;
  const int post_fd_;
  std::mutex mutex_;
  std::vector<Task> tasks_;  // guarded by mutex_
  bool stopped_ = false;     // guarded by mutex_
  std::atomic<bool> posted_{false};
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Group>> groups_;  // the thread's
  std::mutex join_mutex_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_REACTOR_H_
