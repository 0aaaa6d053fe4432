// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

namespace caravan::cli {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kAlreadyExists:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
      return kExitUnreachable;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitPermission;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimedOut;
    case absl::StatusCode::kFailedPrecondition:
      return kExitNotAttested;
    default:
      return kExitInternal;
  }
}

}  // namespace caravan::cli
