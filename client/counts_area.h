// SPDX-License-Identifier: Apache-2.0
//
// Where the counts of operations whose counts differ by rank lie while the daemon may read them.
#ifndef CARAVAN_CLIENT_COUNTS_AREA_H_
#define CARAVAN_CLIENT_COUNTS_AREA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "caravan/caravan.h"
#include "client/operation.h"

namespace caravan::client {

// One shared buffer of slots for one communicator, each for the counts of one operation. It is
// allocated at first use, 1 MiB at most unless one slot is larger. Thread-safe.
class CountsArea {
 public:
  using Allocate = std::function<absl::StatusOr<std::unique_ptr<Buffer>>(uint64_t bytes)>;

  explicit CountsArea(int size) : size_(size) {}

  // Copies the counts into a free slot and calls `submit` with its place; the slot is in use until
  // the operation with the id that `submit` returns is `done`. ResourceExhausted when all slots
  // are in use. The counts have been checked to be one or two for each rank.
  absl::StatusOr<uint64_t> Submit(absl::Span<const uint64_t> counts,
                                  absl::Span<const uint64_t> receive_counts,
                                  const Allocate& allocate,
                                  const std::function<bool(uint64_t id)>& done,
                                  const std::function<absl::StatusOr<uint64_t>(Place)>& submit);

 private:
  struct Slot {
    bool used = false;
    uint64_t id = 0;
  };

  uint64_t SlotBytes() const { return 2 * sizeof(uint64_t) * static_cast<uint64_t>(size_); }

  const int size_;
  std::mutex mutex_;
  std::unique_ptr<Buffer> buffer_;  // these three: guarded by mutex_
  std::vector<Slot> slots_;
  size_t next_ = 0;  // the oldest in use: operations complete in order
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_COUNTS_AREA_H_
