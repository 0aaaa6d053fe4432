// SPDX-License-Identifier: Apache-2.0
//
// The administrator's end of admin.sock.
#ifndef CARAVAN_CLI_ADMIN_CLIENT_H_
#define CARAVAN_CLI_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/caravan/v1/admin.pb.h"

namespace caravan::cli {

class AdminClient {
 public:
  // Unavailable: nobody listens on RUNTIME_DIR/admin.sock. PermissionDenied: not for this user.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(const std::string& runtime_dir,
                                                              absl::Duration timeout);
  virtual ~AdminClient() = default;
  // The daemon's errors as they are; DeadlineExceeded after the time-out.
  virtual absl::StatusOr<v1::GetStatusReply> GetStatus() = 0;
  virtual absl::StatusOr<v1::ListSessionsReply> ListSessions() = 0;
  virtual absl::Status CloseSession(const std::string& id) = 0;
};

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_ADMIN_CLIENT_H_
