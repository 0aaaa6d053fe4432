// SPDX-License-Identifier: Apache-2.0
//
// Where an operation's plaintext lives: a range of some memory, which need not have an address in
// this process.
#ifndef CARAVAN_DAEMON_ENGINE_BUFFER_REF_H_
#define CARAVAN_DAEMON_ENGINE_BUFFER_REF_H_

#include <cstdint>
#include <memory>

namespace caravan::engine {

// Memory that ranges are taken of. Whoever makes it knows how it goes away.
class Memory {
 public:
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* host() const { return host_; }  // where it is in this process, or null: not here
  uint64_t size() const { return size_; }

 protected:
  Memory(uint8_t* host, uint64_t size) : host_(host), size_(size) {}
  ~Memory() = default;

 private:
  uint8_t* const host_;
  const uint64_t size_;
};

// `bytes` at `offset` of `memory`, which stays while this does. Without memory: nothing is read or
// written.
struct BufferRef {
  std::shared_ptr<const Memory> memory;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  // Its first byte in this process; null where there is none. An operation asks once, as it begins,
  // so that its records find a plain pointer.
  uint8_t* host() const {
    const bool here = memory != nullptr && memory->host() != nullptr;
    return here ? memory->host() + offset : nullptr;
  }
  // Whether a byte is in both.
  bool Meets(const BufferRef& other) const {
    return memory != nullptr && memory == other.memory && offset < other.offset + other.bytes &&
           other.offset < offset + bytes;
  }
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_BUFFER_REF_H_
