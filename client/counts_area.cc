// SPDX-License-Identifier: Apache-2.0
#include "client/counts_area.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::client {
namespace {

constexpr uint64_t kAreaBytes = 1 << 20;

}  // namespace

absl::StatusOr<uint64_t> CountsArea::Submit(
    absl::Span<const uint64_t> counts, absl::Span<const uint64_t> receive_counts,
    const Allocate& allocate, const std::function<bool(uint64_t id)>& done,
    const std::function<absl::StatusOr<uint64_t>(Place)>& submit) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffer_ == nullptr) {
    const uint64_t slots =
        std::clamp<uint64_t>(kAreaBytes / SlotBytes(), 1, uint64_t{v1::kRingCapacity});
    auto buffer = allocate(slots * SlotBytes());
    if (!buffer.ok()) return buffer.status();
    buffer_ = *std::move(buffer);
    slots_.resize(slots);
  }
  Slot& slot = slots_[next_];
  if (slot.used && !done(slot.id)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(slots_.size(), " operations with counts are outstanding; wait for one first"));
  }
  const uint64_t offset = next_ * SlotBytes();
  uint64_t* to = reinterpret_cast<uint64_t*>(buffer_->data() + offset);
  to = std::copy(counts.begin(), counts.end(), to);
  std::copy(receive_counts.begin(), receive_counts.end(), to);
  auto id = submit(Place{buffer_->id(), buffer_->size(), offset});
  if (!id.ok()) return id.status();
  slot = {true, *id};
  next_ = (next_ + 1) % slots_.size();
  return *id;
}

}  // namespace caravan::client
