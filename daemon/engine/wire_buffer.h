// SPDX-License-Identifier: Apache-2.0
//
// Blocks of memory that hold records on their way: ciphertext only, so they are neither locked
// nor wiped.
#ifndef CARAVAN_DAEMON_ENGINE_WIRE_BUFFER_H_
#define CARAVAN_DAEMON_ENGINE_WIRE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace caravan::engine {

struct FreeDeleter {
  void operator()(uint8_t* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<uint8_t[], FreeDeleter>;

// `size` bytes on a page boundary; aborts when memory is gone, like operator new here.
AlignedBytes AllocateAligned(size_t size);

// One block. `users` counts what still has to be sent from it.
struct WireBuffer {
  AlignedBytes data;
  uint32_t fill = 0;
  uint32_t users = 0;
};

// Blocks of one size, most recently used first, so that they stay in cache. Callers bound how
// many they hold: with fixed numbers a lane, with a Budget otherwise. Not thread-safe.
class BufferPool {
 public:
  explicit BufferPool(size_t block_size) : block_size_(block_size) {}
  WireBuffer* Take();
  void Put(WireBuffer* buffer) { free_.push_back(buffer); }
  size_t block_size() const { return block_size_; }
  uint64_t bytes() const { return all_.size() * block_size_; }

 private:
  const size_t block_size_;
  std::vector<std::unique_ptr<WireBuffer>> all_;
  std::vector<WireBuffer*> free_;
};

// How many blocks may be held for one purpose. The oldest operation may take any; later ones leave
// half for it, so that an operation never waits for blocks held by operations behind it.
class Budget {
 public:
  explicit Budget(uint32_t capacity) : capacity_(capacity) {}
  void Raise(uint32_t capacity) { capacity_ = capacity > capacity_ ? capacity : capacity_; }
  bool Allows(bool oldest) const {
    return oldest ? used_ < capacity_ : capacity_ - used_ > capacity_ / 2;
  }
  void Take() { ++used_; }
  void Put() { --used_; }

 private:
  uint32_t capacity_;
  uint32_t used_ = 0;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_WIRE_BUFFER_H_
