// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate/scale_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

// The finaliser of SplitMix64: every input bit changes about half of the output.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t Chain(uint64_t hash, uint64_t value) {
  return Mix(hash + 0x9E3779B97F4A7C15 + Mix(value));
}

}  // namespace

void ScaleCheck::Count(const Plan& plan, const Step& step, int from, int to, int64_t sign) {
  const Stream& stream = plan.StreamOf(step);
  for (uint64_t i = 0; i < 2; ++i) {
    uint64_t hash = Chain(i, uint64_t{step.source} << 48 | uint64_t{step.destination} << 32 |
                                 uint64_t{step.phase} << 16);
    hash = Chain(hash, static_cast<uint64_t>(from) << 32 | static_cast<uint64_t>(to));
    hash = Chain(hash, uint64_t{step.chunk} << 32 | step.bytes);
    hash = Chain(hash, uint64_t{stream.chunk_count} << 32 | stream.last_chunk);
    sums_[i] += sign > 0 ? hash : -hash;
  }
  open_records_ += sign;
  open_bytes_ += sign * static_cast<int64_t>(step.bytes);
  if (sign > 0) ++records_;
}

void ScaleCheck::Add(const Plan& plan) {
  steps_ += plan.steps.size();
  largest_ = std::max<uint64_t>(largest_, plan.steps.size());
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kLocal) continue;
    for (uint32_t t = 0; t < step.target_count; ++t) {
      Count(plan, step, plan.rank, plan.targets[step.first_target + t], 1);
    }
    if (step.kind != StepKind::kSeal) Count(plan, step, step.via, plan.rank, -1);
  }
}

absl::Status ScaleCheck::Verify() const {
  if (open_records_ != 0 || open_bytes_ != 0) {
    return absl::InternalError(absl::StrCat("of ", records_, " records sent, ", open_records_,
                                            " with ", open_bytes_, " bytes are not received"));
  }
  if (sums_[0] != 0 || sums_[1] != 0) {
    return absl::InternalError("ranks receive other records than are sent to them");
  }
  return absl::OkStatus();
}

}  // namespace caravan::collective
