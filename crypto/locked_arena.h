// SPDX-License-Identifier: Apache-2.0
//
// The memory behind SecretBytes: blocks that are locked in RAM, kept out of core dumps and out of
// forked children, and cut by the buddy system so that an allocation costs no system call.
//
// Free memory is always zero. All bookkeeping lies outside the blocks.
#ifndef CARAVAN_CRYPTO_LOCKED_ARENA_H_
#define CARAVAN_CRYPTO_LOCKED_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::crypto {

inline constexpr size_t kArenaUnit = 64;                // smallest piece, and its alignment
inline constexpr size_t kArenaBlockSize = 256 << 10;    // usual growth
inline constexpr size_t kArenaMinBlockSize = 16 << 10;  // least growth when locking is scarce
inline constexpr size_t kArenaMaxAllocation = 1 << 20;  // largest piece
inline constexpr size_t kArenaMaxTotal = 64 << 20;      // a leak ends here, not in the machine

// One block of memory, cut into power-of-two pieces. Thread-compatible.
class LockedBlock {
 public:
  // Takes over `base`, a zeroed mapping of `size` bytes (a power of two).
  LockedBlock(uint8_t* base, size_t size);
  LockedBlock(const LockedBlock&) = delete;
  LockedBlock& operator=(const LockedBlock&) = delete;
  ~LockedBlock();

  // kArenaUnit << order bytes of zeros; null when no piece of that size is left.
  void* Allocate(int order);
  // Zeroes the piece and joins it with its free neighbours.
  void Free(void* memory, int order);

  bool Contains(const void* memory) const { return memory >= base_ && memory < base_ + size_; }
  size_t size() const { return size_; }

 private:
  // The free pieces of one order, a bit each.
  struct FreeMap {
    std::vector<uint64_t> bits;
    size_t count = 0;
  };

  bool IsFree(int order, size_t index) const;
  void SetFree(int order, size_t index, bool free);

  uint8_t* base_;
  size_t size_;
  std::vector<FreeMap> free_;  // by order
};

// Thread-safe. Forked children start empty: the parent's secrets are not mapped there.
class LockedArena {
 public:
  using LockFunction = int (*)(const void* memory, size_t size);  // as mlock(2)

  // `lock` is a seam for tests of a kernel that refuses.
  explicit LockedArena(LockFunction lock) : lock_(lock) {}

  // The process's arena; never destroyed, since secrets may outlive static destructors.
  static LockedArena& Get();

  // InvalidArgument when size is 0 or over kArenaMaxAllocation; ResourceExhausted when the arena
  // is full or the kernel refuses to lock more.
  absl::StatusOr<void*> Allocate(size_t size);
  // `size` as given to Allocate().
  void Free(void* memory, size_t size);

  size_t locked_bytes() const;

 private:
  absl::StatusOr<LockedBlock*> Grow(size_t need);
  static void BeforeFork();
  static void InParentAfterFork();
  static void InChildAfterFork();

  const LockFunction lock_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<LockedBlock>> blocks_;
  size_t locked_bytes_ = 0;
  bool forked_ = false;
};

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_LOCKED_ARENA_H_
