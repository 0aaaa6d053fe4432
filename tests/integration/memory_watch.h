// SPDX-License-Identifier: Apache-2.0
//
// For tests: how much private memory processes take, while they work.
#ifndef CARAVAN_TESTS_INTEGRATION_MEMORY_WATCH_H_
#define CARAVAN_TESTS_INTEGRATION_MEMORY_WATCH_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace caravan::testing {

// RssAnon of /proc/PID/status: what is not shared with anybody, so no buffer of an application.
uint64_t PrivateBytes(pid_t pid);

// Looks every 5 ms, and keeps the largest of each.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::vector<pid_t> pids);
  ~MemoryWatch();
  // Since the beginning: the largest growth of any of them.
  uint64_t Growth() const { return growth_; }

 private:
  const std::vector<pid_t> pids_;
  std::vector<uint64_t> begun_;
  std::atomic<uint64_t> growth_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_MEMORY_WATCH_H_
