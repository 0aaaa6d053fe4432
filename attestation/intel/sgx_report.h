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
  return {.cpu_svn = bytes.substr(0, 16),
          .misc_select = bytes.substr(16, 4),
          .attributes = bytes.substr(48, 16),
          .mr_enclave = bytes.substr(64, 32),
          .mr_signer = bytes.substr(128, 32),
          .config_id = bytes.substr(192, 64),
          .isv_prod_id = u16(256),
          .isv_svn = u16(258),
          .config_svn = u16(260),
          .report_data = bytes.substr(320, 64)};
}

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_SGX_REPORT_H_
