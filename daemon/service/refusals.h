// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_SERVICE_REFUSALS_H_
#define CARAVAN_DAEMON_SERVICE_REFUSALS_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace caravan::service {

// The latest refused handshakes, for people. Thread-safe.
class Refusals {
 public:
  static constexpr size_t kKept = 64;
  struct Entry {
    absl::Time when;
    std::string address;
    std::string reason;
  };

  void Add(Entry entry) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    latest_.push_front(std::move(entry));
    if (latest_.size() > kKept) latest_.pop_back();
  }
  uint64_t count() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  std::vector<Entry> Latest() const {  // newest first
    std::lock_guard<std::mutex> lock(mutex_);
    return {latest_.begin(), latest_.end()};
  }

 private:
  mutable std::mutex mutex_;
  uint64_t count_ = 0;
  std::deque<Entry> latest_;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_REFUSALS_H_
