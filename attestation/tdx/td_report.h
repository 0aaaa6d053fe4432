// SPDX-License-Identifier: Apache-2.0
//
// The TD report inside a quote: TD 1.0 (584 bytes), TD 1.5 (648) and its extension (885). Source:
// Intel "TDX DCAP Quote Library API", A.3.2 and A.3.3; TDX module base architecture, TDATTRIBUTES.
#ifndef CARAVAN_ATTESTATION_TDX_TD_REPORT_H_
#define CARAVAN_ATTESTATION_TDX_TD_REPORT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attestation/intel/pck.h"
#include "attestation/intel/quote.h"

namespace caravan::attestation::tdx {

inline constexpr size_t kRegisterSize = 48;

// TDATTRIBUTES by bit.
inline constexpr uint64_t kDebugBits = 0xFF;  // 0 DEBUG, 4 to 6 profiling; the rest reserved
inline constexpr uint64_t kLass = uint64_t{1} << 27;
inline constexpr uint64_t kSeptVeDisable = uint64_t{1} << 28;
inline constexpr uint64_t kMigratable = uint64_t{1} << 29;
inline constexpr uint64_t kPks = uint64_t{1} << 30;
inline constexpr uint64_t kKeyLocker = uint64_t{1} << 31;
inline constexpr uint64_t kTpa = uint64_t{1} << 62;
inline constexpr uint64_t kPerfmon = uint64_t{1} << 63;
inline constexpr uint64_t kKnownAttributes =
    kDebugBits | kLass | kSeptVeDisable | kMigratable | kPks | kKeyLocker | kTpa | kPerfmon;

// Views into the body.
struct TdReport {
  intel::Svns tee_tcb_svn{};
  std::string_view mr_seam;
  std::string_view mr_signer_seam;
  std::string_view seam_attributes;  // 8 bytes
  uint64_t attributes = 0;
  uint64_t xfam = 0;
  std::string_view mrtd, mr_config_id, mr_owner, mr_owner_config;
  std::array<std::string_view, 4> rtmr;
  std::string_view report_data;  // 64 bytes
  // TD 1.5.
  std::optional<intel::Svns> tee_tcb_svn2;
  std::string_view mr_service_td;
  std::string_view extension;  // what the extended TD 1.5 report adds: signed, with no rules here
};

// `body` is the body of a quote of `type`, one of the TD types.
TdReport ViewTdReport(intel::BodyType type, std::string_view body);

}  // namespace caravan::attestation::tdx

#endif  // CARAVAN_ATTESTATION_TDX_TD_REPORT_H_
