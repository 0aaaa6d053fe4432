// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_MEMBERSHIP_CANCELLATION_H_
#define CARAVAN_DAEMON_MEMBERSHIP_CANCELLATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "absl/status/status.h"

namespace caravan::membership {

// Set once, with a reason; whoever waits elsewhere is told by a hook. Thread-safe.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // The first reason wins. Runs the hooks before it returns. `reason` is not OK.
  void Cancel(absl::Status reason);
  // OK until cancelled.
  absl::Status status() const;

  // Runs a hook when cancelled, at once if that was before. The hook may not call back into this
  // object; it no longer runs once the Hook is destroyed.
  class Hook {
   public:
    Hook(Cancellation& cancellation, std::function<void()> run);
    ~Hook();
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    Cancellation& cancellation_;
    uint64_t id_;
  };

 private:
  mutable std::mutex mutex_;
  absl::Status status_;
  std::map<uint64_t, std::function<void()>> hooks_;
  uint64_t next_ = 0;
};

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_CANCELLATION_H_
