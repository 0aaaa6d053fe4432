// SPDX-License-Identifier: Apache-2.0
//
// SEV-SNP reports from /dev/sev-guest, for kernels without configfs-tsm (Linux 5.19 to 6.6).
#ifndef CARAVAN_ATTESTER_SEV_GUEST_DEVICE_H_
#define CARAVAN_ATTESTER_SEV_GUEST_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attester/device_file.h"

namespace caravan::attester {

inline constexpr char kSevGuestPath[] = "/dev/sev-guest";

struct SevGuestOptions {
  uint32_t vmpl = 0;
  std::function<void(absl::Duration)> sleep;  // null: the thread's
};

// Asks for an extended report, which brings the host's certificates; without them where the host
// has more than 256 KiB or the kernel takes less than the host has.
//
// Collect: Unavailable when the host throttles or another request is under way, after five tries
// over 3 s, and when it does not answer in time. FailedPrecondition: the firmware refuses (the
// message has its name for the reason), or the guest's key is disabled. DataLoss: a report of
// another size or with other report data, a malformed certificate table. Internal: the rest.
std::unique_ptr<attestation::Attester> MakeSevGuestAttester(Ioctl device, SevGuestOptions options);

// "INVALID_PARAM" of 0x16 (Linux include/uapi/linux/psp-sev.h); "" for one without a name.
const char* FirmwareErrorName(uint32_t error);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_SEV_GUEST_DEVICE_H_
