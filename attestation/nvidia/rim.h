// SPDX-License-Identifier: Apache-2.0
//
// Reference integrity manifests of NVIDIA: which measurements a driver, a VBIOS or a switch's
// firmware has. Source: TCG "Reference Integrity Manifest Information Model" 1.01, ISO/IEC
// 19770-2:2015, and the documents of rim.attestation.nvidia.com.
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "crypto/hash.h"

namespace caravan::attestation::nvidia {

enum class RimKind { kDriver, kVbios, kSwitch };

std::string_view Name(RimKind kind);  // "driver", "vbios", "switch"

inline constexpr size_t kMaxGoldenEntries = 254;  // as many as SPDM has blocks
inline constexpr size_t kMaxAlternatives = 32;

// What one measurement may be.
struct GoldenEntry {
  uint8_t index = 0;  // SPDM's block of the same measurement is index + 1
  bool active = false;
  std::string name;                                // "HashedMeasurement_1_FSP"
  std::vector<crypto::Sha384Digest> alternatives;  // at least one
};

struct Rim {
  std::string tag_id = {};
  RimKind kind = RimKind::kDriver;
  std::string product = {};              // "GH100", "LS10"
  std::string version = {};              // "545.00", "96.00.5E.00.01"
  std::vector<GoldenEntry> golden = {};  // by index, each index once, at least one active
};

// Reads the canonical bytes that a signature covers (rim_signature.h), and nothing else ever.
// InvalidArgument naming the element on anything malformed, out of its limits, or without a single
// active entry.
absl::StatusOr<Rim> ParseRim(std::string_view content);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_H_
