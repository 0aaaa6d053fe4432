// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/wire_buffer.h"

#include <utility>

namespace caravan::engine {

AlignedBytes AllocateAligned(size_t size) {
  constexpr size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  if (memory == nullptr) std::abort();
  return AlignedBytes(static_cast<uint8_t*>(memory));
}

WireBuffer* BufferPool::Take() {
  if (free_.empty()) {
    auto buffer = std::make_unique<WireBuffer>();
    buffer->data = AllocateAligned(block_size_);
    free_.push_back(buffer.get());
    all_.push_back(std::move(buffer));
  }
  WireBuffer* buffer = free_.back();
  free_.pop_back();
  buffer->fill = 0;
  buffer->users = 0;
  return buffer;
}

}  // namespace caravan::engine
