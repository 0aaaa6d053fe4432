// SPDX-License-Identifier: Apache-2.0
//
// What /dev/sev-guest takes and gives. Sources: Linux include/uapi/linux/sev-guest.h and psp-sev.h
// (6.12); defined here because older headers name the error's halves otherwise.
#ifndef CARAVAN_ATTESTER_SEV_GUEST_ABI_H_
#define CARAVAN_ATTESTER_SEV_GUEST_ABI_H_

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace caravan::attester::sev_guest {

struct ReportRequest {  // snp_report_req
  uint8_t user_data[64];
  uint32_t vmpl;
  uint8_t reserved[28];
};
static_assert(sizeof(ReportRequest) == 96);

struct ExtendedReportRequest {  // snp_ext_report_req
  ReportRequest data;
  uint64_t certificates_address;
  uint32_t certificates_size;  // whole pages; on INVALID_LEN what the host has
  uint32_t padding;
};
static_assert(sizeof(ExtendedReportRequest) == 112);

// MSG_REPORT_RSP (AMD 56860): its first 32 bytes, then the report.
struct ReportResponse {  // snp_report_resp
  uint32_t status;
  uint32_t report_size;
  uint8_t reserved[24];
  uint8_t report[4000 - 32];
};
static_assert(sizeof(ReportResponse) == 4000);

struct Request {  // snp_guest_request_ioctl
  uint8_t message_version;
  uint64_t request_address;
  uint64_t response_address;
  uint32_t firmware_error;  // bits 31:0 of exitinfo2
  uint32_t host_error;      // bits 63:32
};
static_assert(sizeof(Request) == 32 && offsetof(Request, firmware_error) == 24);

inline constexpr unsigned long kGetReport = _IOWR('S', 0x0, Request);
inline constexpr unsigned long kGetExtendedReport = _IOWR('S', 0x2, Request);

// host_error: SNP_GUEST_VMM_ERR_*.
inline constexpr uint32_t kHostInvalidLength = 1;
inline constexpr uint32_t kHostBusy = 2;
// firmware_error when the firmware was never asked (SEV_RET_NO_FW_CALL), and what the driver leaves
// there when it fails before.
inline constexpr uint32_t kNoFirmwareCall = 0xFFFFFFFF;
inline constexpr uint32_t kUntouched = 0xFF;

}  // namespace caravan::attester::sev_guest

#endif  // CARAVAN_ATTESTER_SEV_GUEST_ABI_H_
