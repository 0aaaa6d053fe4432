// SPDX-License-Identifier: Apache-2.0
//
// Confidential computing event logs (CCEL): what firmware and loader measured into the RTMRs. A log
// proves nothing by itself: only when replaying it gives the RTMRs of a verified quote do its
// events hold. Sources: UEFI 2.10, 38.4 (CC measurement); TCG PC Client Platform Firmware
// Profile, 10.
#ifndef CARAVAN_ATTESTATION_TDX_EVENT_LOG_H_
#define CARAVAN_ATTESTATION_TDX_EVENT_LOG_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::attestation::tdx {

inline constexpr size_t kMaxEventLogSize = 8 << 20;  // bytes
inline constexpr size_t kMaxEvents = 65536;

using Rtmrs = std::array<std::array<uint8_t, 48>, 4>;

struct Replay {
  Rtmrs rtmrs{};
  size_t events = 0;  // that were extended
};

// RTMR0 to RTMR3 as the log's SHA-384 digests leave them, from zero, in the log's order. Padding of
// zeros or ones at the end is skipped. InvalidArgument, naming the event, on anything malformed: an
// event for another register than MRTD and the RTMRs, one without a SHA-384 digest, or one that
// reaches past the end.
absl::StatusOr<Replay> ReplayEventLog(std::string_view log);

// OK when replaying gives all four; PermissionDenied naming the first that differs otherwise.
absl::Status CheckEventLog(std::string_view log, const Rtmrs& quoted);

}  // namespace caravan::attestation::tdx

#endif  // CARAVAN_ATTESTATION_TDX_EVENT_LOG_H_
