// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/memory_watch.h"

#include <chrono>
#include <fstream>
#include <string>
#include <utility>

namespace caravan::testing {

uint64_t PrivateBytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    uint64_t kibibytes = 0;
    if (word == "RssAnon:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

MemoryWatch::MemoryWatch(std::vector<pid_t> pids) : pids_(std::move(pids)) {
  for (pid_t pid : pids_) begun_.push_back(PrivateBytes(pid));
  thread_ = std::thread([this] {
    while (!stop_) {
      for (size_t i = 0; i < pids_.size(); ++i) {
        const uint64_t now = PrivateBytes(pids_[i]);
        if (now > begun_[i] && now - begun_[i] > growth_) growth_ = now - begun_[i];
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

MemoryWatch::~MemoryWatch() {
  stop_ = true;
  thread_.join();
}

}  // namespace caravan::testing
