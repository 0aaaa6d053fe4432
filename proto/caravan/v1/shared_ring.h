// SPDX-License-Identifier: Apache-2.0
//
// Layout of the memory that one communicator's application and daemon share: a submission ring, a
// completion ring, and the first reason of a failure. It is a sealed memfd (F_SEAL_SHRINK,
// F_SEAL_GROW, F_SEAL_SEAL), so neither side can pull it from under the other.
//
// The daemon trusts nothing in it: it copies an entry once, then checks the copy; it keeps its own
// indices in private memory and treats an index that moves by more than kRingCapacity as a fault
// of the application. The application checks what it reads as well.
//
// Submission: the application writes entries[tail % kRingCapacity], then stores submit_tail with
// release order, then, where daemon_sleeping is non-zero, writes 1 to the wake eventfd.
// Completion: operations complete in submission order. The daemon writes
// completions[complete_tail % kRingCapacity], stores complete_tail with release order, adds 1 to
// complete_futex and wakes it. The application waits on complete_futex (shared, not private).
#ifndef CARAVAN_PROTO_CARAVAN_V1_SHARED_RING_H_
#define CARAVAN_PROTO_CARAVAN_V1_SHARED_RING_H_

#include <atomic>
#include <cstdint>

namespace caravan::v1 {

inline constexpr uint32_t kRingMagic = 0x4e525643;  // "CVRN"
inline constexpr uint32_t kRingVersion = 1;
inline constexpr uint32_t kRingCapacity = 256;     // entries; outstanding operations at most
inline constexpr uint32_t kReasonCapacity = 2048;  // bytes of UTF-8

// One operation. Values of the enumerations: collective/types.h. 64 bytes.
struct SubmitEntry {
  uint64_t id;  // equals its index: the application counts up from 0
  uint8_t op;
  uint8_t dtype;
  uint8_t reduce;
  uint8_t algorithm;
  uint16_t root;
  uint16_t peer;
  uint64_t count;         // elements, by collective/types.h
  uint32_t input_buffer;  // buffer ids, as the daemon gave them
  uint32_t output_buffer;
  uint64_t input_offset;  // bytes
  uint64_t output_offset;
  // Where counts differ by rank, they lie in a buffer as u64: AllGatherV's `size` counts; for
  // AllToAllV the `size` send counts, then as many receive counts. Copied once, when the entry is
  // taken; they may be overwritten once the operation has completed. Zero for other operations.
  uint64_t counts_offset;  // bytes, a multiple of 8
  uint32_t counts_buffer;
  uint32_t reserved;  // zero
};
static_assert(sizeof(SubmitEntry) == 64);

struct CompletionEntry {
  uint64_t id;
  uint32_t code;  // absl::StatusCode; 0 is success. The message: RingHeader::reason
  uint32_t reserved;
};
static_assert(sizeof(CompletionEntry) == 16);

struct SharedRing {
  // Written once by the daemon.
  uint32_t magic;
  uint32_t version;
  uint32_t capacity;
  uint32_t rank;
  uint32_t size;

  // Application's.
  alignas(64) std::atomic<uint64_t> submit_tail;
  // Daemon's.
  alignas(64) std::atomic<uint64_t> submit_head;
  std::atomic<uint64_t> complete_tail;
  std::atomic<uint32_t> complete_futex;
  std::atomic<uint32_t> daemon_sleeping;
  // 0, or the absl::StatusCode of the communicator's first failure; stored (release) after
  // reason_size and reason are written.
  std::atomic<uint32_t> failed;
  uint32_t reason_size;
  char reason[kReasonCapacity];

  alignas(64) SubmitEntry entries[kRingCapacity];
  alignas(64) CompletionEntry completions[kRingCapacity];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace caravan::v1

#endif  // CARAVAN_PROTO_CARAVAN_V1_SHARED_RING_H_
