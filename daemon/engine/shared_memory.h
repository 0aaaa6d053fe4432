// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon owns and an application maps: sealed memfds.
#ifndef CARAVAN_DAEMON_ENGINE_SHARED_MEMORY_H_
#define CARAVAN_DAEMON_ENGINE_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "daemon/engine/buffer_ref.h"

namespace caravan::engine {

// A memfd that can neither shrink nor grow (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), mapped
// read-write here. Shared by reference: an operation in flight keeps it mapped.
class SharedMemory final : public Memory {
 public:
  // `size` > 0, rounded up to whole pages. ResourceExhausted when memory or descriptors run out.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Create(const char* name, uint64_t size);
  ~SharedMemory();

  int fd() const { return fd_; }
  uint8_t* data() const { return host(); }     // size() bytes, as asked for
  uint64_t mapped() const { return mapped_; }  // whole pages

 private:
  SharedMemory(int fd, uint8_t* data, uint64_t size, uint64_t mapped)
      : Memory(data, size), fd_(fd), mapped_(mapped) {}
  int fd_;
  uint64_t mapped_;
};

// Each buffer costs a descriptor.
inline constexpr size_t kMaxBuffers = 4096;

// One application's buffers by id (ids start at 1; 0 means "no buffer"). Thread-safe.
class BufferTable {
 public:
  explicit BufferTable(uint64_t max_bytes, size_t max_buffers = kMaxBuffers)
      : max_bytes_(max_bytes), max_buffers_(max_buffers) {}
  // Counts whole pages. ResourceExhausted when the application's share is used up, saying how much
  // is left, or with `max_buffers`.
  absl::StatusOr<uint32_t> Allocate(uint64_t size);
  absl::Status Free(uint32_t id);                         // NotFound
  std::shared_ptr<SharedMemory> Find(uint32_t id) const;  // null if none
  uint64_t bytes() const;

 private:
  const uint64_t max_bytes_;
  const size_t max_buffers_;
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<SharedMemory>> buffers_;
  uint64_t bytes_ = 0;
  uint32_t next_ = 1;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SHARED_MEMORY_H_
