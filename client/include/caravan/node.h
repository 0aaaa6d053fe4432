// SPDX-License-Identifier: Apache-2.0
//
// The local daemon, and memory that is shared with it.
#ifndef CARAVAN_CLIENT_INCLUDE_CARAVAN_NODE_H_
#define CARAVAN_CLIENT_INCLUDE_CARAVAN_NODE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan {

// Memory shared with the daemon: the only memory that operations take. Freed on destruction (the
// daemon keeps it until operations in flight have ended). It keeps its node's connection.
// Thread-compatible.
class Buffer {
 public:
  class Impl;
  explicit Buffer(std::unique_ptr<Impl> impl);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  uint8_t* data() const;
  uint64_t size() const;  // bytes
  uint32_t id() const;    // unique among this application's buffers
  template <typename T>
  T* As() const {
    return reinterpret_cast<T*>(data());
  }

  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A place in a buffer. `offset` in bytes. The buffer outlives the call that takes it.
struct BufferRef {
  BufferRef() = default;  // no place
  BufferRef(const Buffer& b, uint64_t at = 0)
      : buffer(&b), offset(at) {}  // NOLINT: implicit by design

  const Buffer* buffer = nullptr;
  uint64_t offset = 0;
};

struct NodeOptions {
  // Folder of workload.sock and memory.sock. Empty: $CARAVAN_RUNTIME_DIR, else /run/caravan.
  std::string runtime_dir;
  absl::Duration timeout = absl::Seconds(10);  // of each call to the daemon
};

// A connection to the local daemon. The daemon ends this process's communicators when it goes
// away. Thread-safe.
class Node {
 public:
  // Unavailable: no daemon there. PermissionDenied: the daemon does not serve this user.
  static absl::StatusOr<std::unique_ptr<Node>> Connect(const NodeOptions& options = {});

  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // InvalidArgument for 0 bytes. ResourceExhausted, with what is left, when over the application's
  // share.
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(uint64_t bytes);

  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_INCLUDE_CARAVAN_NODE_H_
