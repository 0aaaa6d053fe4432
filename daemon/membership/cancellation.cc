// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/cancellation.h"

#include <utility>

namespace caravan::membership {

void Cancellation::Cancel(absl::Status reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!status_.ok()) return;
  status_ = std::move(reason);
  // Under the lock, so that ~Hook() waits for a hook that is running.
  for (auto& [id, run] : hooks_) run();
}

absl::Status Cancellation::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

Cancellation::Hook::Hook(Cancellation& cancellation, std::function<void()> run)
    : cancellation_(cancellation) {
  std::lock_guard<std::mutex> lock(cancellation_.mutex_);
  id_ = cancellation_.next_++;
  if (!cancellation_.status_.ok()) run();
  cancellation_.hooks_.emplace(id_, std::move(run));
}

Cancellation::Hook::~Hook() {
  std::lock_guard<std::mutex> lock(cancellation_.mutex_);
  cancellation_.hooks_.erase(id_);
}

}  // namespace caravan::membership
