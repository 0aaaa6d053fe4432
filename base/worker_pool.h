// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_BASE_WORKER_POOL_H_
#define CARAVAN_BASE_WORKER_POOL_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace caravan::base {

// A few threads for tasks that may block for seconds. Thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();  // Stop()
  // Never blocks. Tasks posted after Stop() are dropped.
  void Post(std::function<void()> task);
  // Runs what is queued, then joins. Idempotent; not from a task.
  void Stop();

 private:
  void Run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Runs task(0) … task(count - 1), at most `width` at a time on threads of its own; returns when
// all have.
void RunParallel(size_t count, size_t width, const std::function<void(size_t)>& task);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_WORKER_POOL_H_
