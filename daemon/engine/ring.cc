// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

absl::StatusOr<Ring> Ring::Create(std::shared_ptr<SharedMemory> memory, uint16_t rank,
                                  uint16_t size) {
  if (memory == nullptr || memory->size() < sizeof(v1::SharedRing)) {
    return absl::InvalidArgumentError(absl::StrCat("the ring's memory is too small: expected ",
                                                   sizeof(v1::SharedRing), " bytes"));
  }
  Ring ring(std::move(memory));
  ring.ring_ = new (ring.memory_->data()) v1::SharedRing{};
  ring.ring_->magic = v1::kRingMagic;
  ring.ring_->version = v1::kRingVersion;
  ring.ring_->capacity = v1::kRingCapacity;
  ring.ring_->rank = rank;
  ring.ring_->size = size;
  return ring;
}

absl::StatusOr<bool> Ring::Take(v1::SubmitEntry* entry) {
  const uint64_t tail = ring_->submit_tail.load(std::memory_order_acquire);
  if (tail == taken_) return false;
  if (tail - taken_ > Room()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the submission index is ", tail, " after ", taken_, " with ", completed_,
                     " operations complete: it only grows, and at most ", v1::kRingCapacity,
                     " may be outstanding [APPLICATION_RING]"));
  }
  std::memcpy(entry, &ring_->entries[taken_ % v1::kRingCapacity], sizeof(*entry));
  // The copy is what is checked and used: the compiler must not read the ring again.
  asm volatile("" : : "r"(entry) : "memory");
  if (entry->id != taken_) {
    return absl::InvalidArgumentError(absl::StrCat("entry ", taken_, " carries the id ", entry->id,
                                                   ": expected its index [APPLICATION_RING]"));
  }
  ++taken_;
  ring_->submit_head.store(taken_, std::memory_order_release);
  return true;
}

bool Ring::CanSkip() const {
  const uint64_t tail = ring_->submit_tail.load(std::memory_order_seq_cst);
  return tail != taken_ && tail - taken_ <= Room();
}

bool Ring::Skip() {
  const uint64_t tail = ring_->submit_tail.load(std::memory_order_acquire);
  if (tail == taken_ || tail - taken_ > Room()) return false;
  ++taken_;
  ring_->submit_head.store(taken_, std::memory_order_release);
  return true;
}

void Ring::Complete(uint64_t id, absl::StatusCode code) {
  v1::CompletionEntry& entry = ring_->completions[completed_ % v1::kRingCapacity];
  entry.id = id;
  entry.code = static_cast<uint32_t>(code);
  entry.reserved = 0;
  ++completed_;
}

void Ring::Publish() {
  ring_->complete_tail.store(completed_, std::memory_order_release);
  ring_->complete_futex.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &ring_->complete_futex, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Ring::SetSleeping(bool sleeping) {
  ring_->daemon_sleeping.store(sleeping ? 1 : 0, std::memory_order_seq_cst);
}

void Ring::MarkFailed(const absl::Status& reason) {
  const uint32_t size =
      static_cast<uint32_t>(std::min<size_t>(reason.message().size(), v1::kReasonCapacity));
  std::memcpy(ring_->reason, reason.message().data(), size);
  ring_->reason_size = size;
  ring_->failed.store(static_cast<uint32_t>(reason.code()), std::memory_order_release);
}

}  // namespace caravan::engine
