// SPDX-License-Identifier: Apache-2.0
//
// Checks that the plans of all ranks fit together, one plan in memory at a time: for counts of
// ranks that no simulation of all of them could hold. For tests and the scale report.
#ifndef CARAVAN_COLLECTIVE_SIMULATE_SCALE_CHECK_H_
#define CARAVAN_COLLECTIVE_SIMULATE_SCALE_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "collective/plan/plan.h"

namespace caravan::collective {

// Every record that some plan sends to a rank must be the one, and the only one, that this rank's
// plan receives from there, with the same name, length and place in its stream. The check keeps
// sums of hashes over all transmissions, weighted +1 where they leave and −1 where they arrive: a
// difference that goes unnoticed would have to hit a 128-bit sum of zero.
class ScaleCheck {
 public:
  // Adds `plan`: each rank's once, in any order.
  void Add(const Plan& plan);

  uint64_t steps() const { return steps_; }
  uint64_t largest() const { return largest_; }  // steps of the longest plan
  uint64_t records() const { return records_; }  // transmissions

  // Internal when what is sent differs from what is received, in records, in bytes or in names.
  absl::Status Verify() const;

 private:
  void Count(const Plan& plan, const Step& step, int from, int to, int64_t sign);

  uint64_t steps_ = 0;
  uint64_t largest_ = 0;
  uint64_t records_ = 0;
  int64_t open_records_ = 0;  // sent less received
  int64_t open_bytes_ = 0;
  uint64_t sums_[2] = {0, 0};
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_SIMULATE_SCALE_CHECK_H_
