// SPDX-License-Identifier: Apache-2.0
//
// A character device that is asked by ioctl, behind a seam that a test can play.
#ifndef CARAVAN_ATTESTER_DEVICE_FILE_H_
#define CARAVAN_ATTESTER_DEVICE_FILE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::attester {

// One ioctl: 0, or the error number. The descriptor lives as long as the function and its copies.
using Ioctl = std::function<int(unsigned long request, void* argument)>;

// NotFound: there is no such device, or no driver behind it. PermissionDenied: not for this user.
// Unavailable: another process holds it. Internal: the rest. Each message begins with `path`.
absl::StatusOr<Ioctl> OpenDevice(const std::string& path);

// What OpenDevice makes of an error number.
absl::Status OpenError(const std::string& path, int error);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_DEVICE_FILE_H_
