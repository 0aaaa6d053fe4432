// SPDX-License-Identifier: Apache-2.0
//
// A device's measurements against what its manifests say they may be.
#ifndef CARAVAN_ATTESTATION_NVIDIA_GOLDEN_H_
#define CARAVAN_ATTESTATION_NVIDIA_GOLDEN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/nvidia/rim.h"

namespace caravan::attestation::nvidia {

// Golden index of NVDEC0's registers, which say nothing while NVDEC0 is off.
inline constexpr uint8_t kNvdec0Index = 35;

struct MeasuredBlock {
  uint8_t index = 0;  // SPDM's, from 1
  std::string value;  // 48 bytes
};

struct GoldenFinding {
  enum class Kind {
    kMismatch,     // none of the alternatives
    kNotMeasured,  // active, and the report has no such block
    kConflict,     // active in two manifests
    kRepeated,     // two blocks of one index
    kUncovered,    // a block with a value that no active entry speaks of
    kSkipped,      // kNvdec0Index while NVDEC0 is off
  };
  Kind kind = Kind::kMismatch;
  uint8_t index = 0;   // golden
  std::string detail;  // "driver measurement 7 (Measurement_7) is 3292…, …"
};

struct GoldenComparison {
  size_t compared = 0, matched = 0;
  std::vector<GoldenFinding> findings;  // by index

  size_t Count(GoldenFinding::Kind kind) const;
  // Every active entry has its measurement, there is at least one, and nothing contradicts.
  // Uncovered blocks are the caller's to judge.
  bool Matches() const;
};

// `rims`: a GPU's driver and VBIOS, or a switch's one.
GoldenComparison CompareGolden(absl::Span<const Rim* const> rims,
                               absl::Span<const MeasuredBlock> measured, bool nvdec0_disabled);

// Checks <id>_GOLDEN (values), <id>_GOLDEN_CONFLICT, <id>_GOLDEN_COVERAGE. Uncovered blocks fail,
// or warn where the policy allows them.
void CheckGolden(const std::string& id, const GoldenComparison& comparison, bool allow_uncovered,
                 CheckList* checks);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_GOLDEN_H_
