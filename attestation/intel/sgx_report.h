// SPDX-License-Identifier: Apache-2.0
//
// An SGX enclave's report, 384 bytes: of the quoted enclave and of the quoting enclave. Source:
// Intel SDM volume 3D, table 39-21 (REPORT), without KEYID and MAC.
#ifndef CARAVAN_ATTESTATION_INTEL_SGX_REPORT_H_
#define CARAVAN_ATTESTATION_INTEL_SGX_REPORT_H_

#include <cstdint>
#include <string_view>

namespace caravan::attestation::intel {

// ATTRIBUTES.FLAGS
inline constexpr uint64_t kSgxInit = 1 << 0;
inline constexpr uint64_t kSgxDebug = 1 << 1;
inline constexpr uint64_t kSgxMode64 = 1 << 2;
// Those, and PROVISION_KEY, EINITTOKEN_KEY, CET, KSS and AEX_NOTIFY.
inline constexpr uint64_t kSgxKnownFlags = 0x4F7;

// Views into the report.
struct SgxReport {
  std::string_view cpu_svn;      // 16
  std::string_view misc_select;  // 4, little endian
  std::string_view attributes;   // 16: FLAGS and XFRM, 8 each
  std::string_view mr_enclave;   // 32
  std::string_view mr_signer;    // 32
  std::string_view config_id;    // 64
  uint16_t isv_prod_id = 0;
  uint16_t isv_svn = 0;
  uint16_t config_svn = 0;
  std::string_view report_data;  // 64
  bool reserved_is_zero = true;  // between the fields

  uint64_t flags() const { return Little(attributes.substr(0, 8)); }
  uint64_t xfrm() const { return Little(attributes.substr(8, 8)); }

  static uint64_t Little(std::string_view bytes) {
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
};

// `bytes` has kSgxReportSize bytes.
inline SgxReport ViewSgxReport(std::string_view bytes) {
  const auto u16 = [&](size_t at) {
    return static_cast<uint16_t>(SgxReport::Little(bytes.substr(at, 2)));
  };
  const auto zero = [&](size_t at, size_t size) {
    return bytes.substr(at, size).find_first_not_of('\0') == std::string_view::npos;
  };
  return {.cpu_svn = bytes.substr(0, 16),
          .misc_select = bytes.substr(16, 4),
          .attributes = bytes.substr(48, 16),
          .mr_enclave = bytes.substr(64, 32),
          .mr_signer = bytes.substr(128, 32),
          .config_id = bytes.substr(192, 64),
          .isv_prod_id = u16(256),
          .isv_svn = u16(258),
          .config_svn = u16(260),
          .report_data = bytes.substr(320, 64),
          .reserved_is_zero = zero(20, 12) && zero(96, 32) && zero(160, 32) && zero(262, 42)};
}

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_SGX_REPORT_H_
