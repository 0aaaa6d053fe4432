// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

namespace caravan::cli {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kAlreadyExists:
      return kUsage;
    case absl::StatusCode::kUnavailable:
      return kUnreachable;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kNotPermitted;
    case absl::StatusCode::kDeadlineExceeded:
      return kTimedOut;
    case absl::StatusCode::kFailedPrecondition:
      return kNotAttested;
    default:
      return kInternalError;
  }
}

}  // namespace caravan::cli
