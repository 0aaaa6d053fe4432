// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/recent_operations.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {
namespace {

constexpr size_t kKept = 2 * v1::kRingCapacity;

}  // namespace

void RecentOperations::Add(uint64_t sequence, collective::OperationSpec spec) {
  spec.counts.clear();
  spec.receive_counts.clear();
  if (recent_.size() < kKept) {
    recent_.push_back({sequence, std::move(spec)});
  } else {
    recent_[next_++ % kKept] = {sequence, std::move(spec)};
  }
}

absl::StatusOr<std::string> RecentOperations::Describe(uint64_t sequence) const {
  const One* found = nullptr;
  for (const One& d : recent_) {
    if (d.sequence != sequence) continue;
    const bool pairwise =
        d.spec.op == collective::Operation::kSend || d.spec.op == collective::Operation::kRecv;
    if (found == nullptr || !pairwise) found = &d;
  }
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no operation with sequence ", sequence, " was submitted lately"));
  }
  return found->spec.Describe();
}

}  // namespace caravan::engine
