// SPDX-License-Identifier: Apache-2.0
//
// Versions of drivers and VBIOS, compared part by part, never as text or as one number.
#ifndef CARAVAN_ATTESTATION_NVIDIA_VERSION_H_
#define CARAVAN_ATTESTATION_NVIDIA_VERSION_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace caravan::attestation::nvidia {

enum class VersionBase { kDecimal = 10, kHexadecimal = 16 };

// Negative, zero or positive as `a` is older than, as old as or newer than `b`. Parts that one has
// and the other has not count as zero. InvalidArgument naming the text that is not 1 to 8 parts of
// up to 6 digits between dots.
absl::StatusOr<int> CompareVersions(std::string_view a, std::string_view b, VersionBase base);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_VERSION_H_
