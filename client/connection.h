// SPDX-License-Identifier: Apache-2.0
//
// What a node, its buffers and its communicators share: the two sockets, and the watch over the
// daemon's life.
#ifndef CARAVAN_CLIENT_CONNECTION_H_
#define CARAVAN_CLIENT_CONNECTION_H_

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/descriptor.h"
#include "client/memory_client.h"
#include "client/ring.h"
#include "client/workload_client.h"

namespace caravan::client {

// Thread-safe. A thread of its own watches memory.sock: when the daemon goes away, every ring that
// is watched fails with Unavailable, and whoever waits on it wakes.
class Connection {
 public:
  // Errors: those of NodeOptions' callers, as in caravan.h.
  static absl::StatusOr<std::shared_ptr<Connection>> Open(const std::string& runtime_dir,
                                                          absl::Duration timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  MemoryClient& memory() { return *memory_; }
  WorkloadClient& workload() { return *workload_; }
  // False once the daemon is gone.
  bool alive();
  // Fails the ring when the daemon goes away, at once if it is gone already.
  void Watch(const std::shared_ptr<Ring>& ring);

 private:
  Connection(std::string runtime_dir, std::unique_ptr<MemoryClient> memory,
             std::unique_ptr<WorkloadClient> workload, base::Descriptor stop);
  void WatchDaemon();

  const std::string runtime_dir_;
  const std::unique_ptr<MemoryClient> memory_;
  const std::unique_ptr<WorkloadClient> workload_;
  const base::Descriptor stop_;  // eventfd that ends the thread
  std::mutex mutex_;
  absl::Status gone_;  // these two: guarded by mutex_
  std::vector<std::weak_ptr<Ring>> watched_;
  std::thread watcher_;
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_CONNECTION_H_
