// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace caravan::base {

WorkerPool::WorkerPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Post(std::function<void()> task) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void WorkerPool::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerPool::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void RunParallel(size_t count, size_t width, const std::function<void(size_t)>& task) {
  if (count == 1) return task(0);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(count, width); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace caravan::base
