// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_LOCAL_APPLICATIONS_H_
#define CARAVAN_DAEMON_LOCAL_APPLICATIONS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/engine/shared_memory.h"
#include "daemon/local/local_socket.h"

namespace caravan::local {

inline constexpr size_t kTokenSize = 32;

// A process that uses this node, for as long as its connection to memory.sock stands.
struct Application {
  uint64_t id = 0;
  Credentials credentials;
  std::array<uint8_t, kTokenSize> token{};  // names it on workload.sock
  int wake_fd = -1;                         // eventfd, owned
  std::shared_ptr<engine::BufferTable> buffers;
  std::atomic<bool> ended{false};  // its connection is gone: it gets nothing new

  Application() = default;
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
};

// Thread-safe.
class Applications {
 public:
  Applications(uint32_t max, uint64_t memory_bytes) : max_(max), memory_bytes_(memory_bytes) {}

  // ResourceExhausted: names the limit.
  absl::StatusOr<std::shared_ptr<Application>> Add(const Credentials& credentials);
  void Remove(uint64_t id);  // marks it as ended
  // Compares with every token in constant time. Unauthenticated: unknown, or another user's.
  absl::StatusOr<std::shared_ptr<Application>> Find(absl::string_view token, uid_t uid) const;
  size_t count() const;

 private:
  const uint32_t max_;
  const uint64_t memory_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Application>> all_;
  uint64_t next_ = 1;
};

}  // namespace caravan::local

#endif  // CARAVAN_DAEMON_LOCAL_APPLICATIONS_H_
