// SPDX-License-Identifier: Apache-2.0
//
// TDX quotes for kernels without configfs-tsm (Linux 6.2 to 6.6): a TDREPORT from /dev/tdx_guest,
// turned into a quote by the host's quote service. Source: Linux include/uapi/linux/tdx-guest.h.
#ifndef CARAVAN_ATTESTER_TDX_GUEST_DEVICE_H_
#define CARAVAN_ATTESTER_TDX_GUEST_DEVICE_H_

#include <sys/ioctl.h>

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attester/device_file.h"
#include "attester/quote_service.h"

namespace caravan::attester {

inline constexpr char kTdxGuestPath[] = "/dev/tdx_guest";

struct TdReportRequest {  // tdx_report_req
  uint8_t report_data[64];
  uint8_t td_report[1024];
};
inline constexpr unsigned long kGetTdReport = _IOWR('T', 1, TdReportRequest);

struct TdxGuestOptions {
  absl::Duration timeout = absl::Seconds(30);  // of the quote service
};

// Collect: Unavailable when the device is busy or interrupted; FailedPrecondition: the device takes
// no such request; DataLoss: a TDREPORT or quote with other report data; Internal: the rest; and
// the errors of RequestQuote.
std::unique_ptr<attestation::Attester> MakeTdxGuestAttester(Ioctl device, Connect quote_service,
                                                            TdxGuestOptions options);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_TDX_GUEST_DEVICE_H_
