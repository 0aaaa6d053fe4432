// SPDX-License-Identifier: Apache-2.0
//
// Deadlines on a clock that nobody can set back.
#ifndef CARAVAN_BASE_CLOCK_H_
#define CARAVAN_BASE_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace caravan::base {

using SteadyTime = std::chrono::steady_clock::time_point;

// The moment on the steady clock that is as far away as `deadline` is now. What is further away
// than a day is as good as a day, and fits.
inline SteadyTime ToSteady(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24));
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(left);
}

// Milliseconds for poll(): until `deadline`, at most `most`, at least 0. Rounded up, so that a wait
// of less than a millisecond does not spin.
inline int PollTimeout(SteadyTime deadline, int most) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, most));
}

}  // namespace caravan::base

#endif  // CARAVAN_BASE_CLOCK_H_
