// SPDX-License-Identifier: Apache-2.0
#include "crypto/locked_arena.h"

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace caravan::crypto {
namespace {

int OrderOf(size_t size) {
  return std::countr_zero(std::bit_ceil(std::max(size, kArenaUnit)) / kArenaUnit);
}

}  // namespace

LockedBlock::LockedBlock(uint8_t* base, size_t size) : base_(base), size_(size) {
  const int top = OrderOf(size);
  free_.resize(top + 1);
  for (int order = 0; order <= top; ++order) {
    free_[order].bits.resize(((size / (kArenaUnit << order)) + 63) / 64);
  }
  SetFree(top, 0, true);
  ASAN_POISON_MEMORY_REGION(base_, size_);
}

LockedBlock::~LockedBlock() {
  ASAN_UNPOISON_MEMORY_REGION(base_, size_);
  munmap(base_, size_);
}

bool LockedBlock::IsFree(int order, size_t index) const {
  return (free_[order].bits[index / 64] >> (index % 64)) & 1;
}

void LockedBlock::SetFree(int order, size_t index, bool free) {
  FreeMap& map = free_[order];
  map.bits[index / 64] ^= uint64_t{1} << (index % 64);
  map.count += free ? 1 : -1;
}

void* LockedBlock::Allocate(int order) {
  const int top = static_cast<int>(free_.size()) - 1;
  int from = order;
  while (from <= top && free_[from].count == 0) ++from;
  if (from > top) return nullptr;
  size_t word = 0;
  while (free_[from].bits[word] == 0) ++word;
  size_t index = word * 64 + std::countr_zero(free_[from].bits[word]);
  SetFree(from, index, false);
  while (from > order) {
    --from;
    index *= 2;
    SetFree(from, index + 1, true);
  }
  return base_ + index * (kArenaUnit << order);
}

void LockedBlock::Free(void* memory, int order) {
  const size_t piece = kArenaUnit << order;
  const size_t offset = static_cast<uint8_t*>(memory) - base_;
  size_t index = offset / piece;
  // A wrong size or a second release would hand one secret's memory to two owners.
  if (offset % piece != 0 || IsFree(order, index)) std::abort();
  ASAN_UNPOISON_MEMORY_REGION(memory, piece);
  explicit_bzero(memory, piece);
  ASAN_POISON_MEMORY_REGION(memory, piece);
  const int top = static_cast<int>(free_.size()) - 1;
  while (order < top && IsFree(order, index ^ 1)) {
    SetFree(order, index ^ 1, false);
    index /= 2;
    ++order;
  }
  SetFree(order, index, true);
}

LockedArena& LockedArena::Get() {
  static LockedArena* const arena = [] {
    pthread_atfork(BeforeFork, InParentAfterFork, InChildAfterFork);
    return new LockedArena(::mlock);
  }();
  return *arena;
}

void LockedArena::BeforeFork() { Get().mutex_.lock(); }
void LockedArena::InParentAfterFork() { Get().mutex_.unlock(); }
void LockedArena::InChildAfterFork() {
  LockedArena& arena = Get();
  arena.blocks_.clear();
  arena.locked_bytes_ = 0;
  arena.forked_ = true;
  arena.mutex_.unlock();
}

absl::StatusOr<LockedBlock*> LockedArena::Grow(size_t need) {
  need = std::bit_ceil(std::max(need, kArenaMinBlockSize));
  for (size_t size = std::max(need, kArenaBlockSize); size >= need; size /= 2) {
    if (locked_bytes_ + size > kArenaMaxTotal) continue;
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) continue;
    if (lock_(base, size) != 0 || madvise(base, size, MADV_DONTDUMP) != 0 ||
        madvise(base, size, MADV_DONTFORK) != 0) {
      munmap(base, size);
      continue;
    }
    blocks_.push_back(std::make_unique<LockedBlock>(static_cast<uint8_t*>(base), size));
    locked_bytes_ += size;
    return blocks_.back().get();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("locked memory for secrets: cannot lock ", need, " more bytes beside the ",
                   locked_bytes_, " in use (", strerror(errno), "; the arena holds at most ",
                   kArenaMaxTotal, "); raise RLIMIT_MEMLOCK (LimitMEMLOCK= in systemd)"));
}

absl::StatusOr<void*> LockedArena::Allocate(size_t size) {
  if (size == 0 || size > kArenaMaxAllocation) {
    return absl::InvalidArgumentError(absl::StrCat("locked memory for secrets: size ", size,
                                                   ", expected 1 to ", kArenaMaxAllocation));
  }
  const int order = OrderOf(size);
  std::lock_guard<std::mutex> lock(mutex_);
  void* memory = nullptr;
  for (const auto& block : blocks_) {
    if (OrderOf(block->size()) < order) continue;
    memory = block->Allocate(order);
    if (memory != nullptr) break;
  }
  if (memory == nullptr) {
    absl::StatusOr<LockedBlock*> block = Grow(kArenaUnit << order);
    if (!block.ok()) return block.status();
    memory = (*block)->Allocate(order);
  }
  ASAN_UNPOISON_MEMORY_REGION(memory, size);
  return memory;
}

void LockedArena::Free(void* memory, size_t size) {
  if (memory == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& block : blocks_) {
    if (block->Contains(memory)) {
      block->Free(memory, OrderOf(size));
      return;
    }
  }
  // A child releases what it inherited: not mapped here, so nothing is left to wipe.
  if (!forked_) std::abort();
}

size_t LockedArena::locked_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return locked_bytes_;
}

}  // namespace caravan::crypto
