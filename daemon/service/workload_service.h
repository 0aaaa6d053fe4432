// SPDX-License-Identifier: Apache-2.0
//
// workload.sock: what applications ask, over gRPC (proto/caravan/v1/workload.proto).
#ifndef CARAVAN_DAEMON_SERVICE_WORKLOAD_SERVICE_H_
#define CARAVAN_DAEMON_SERVICE_WORKLOAD_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/local/applications.h"
#include "daemon/service/communicator_manager.h"

namespace caravan::service {

// Serves on a Unix socket. Thread-safe.
class WorkloadServer {
 public:
  struct Options {
    std::string path;
    std::vector<uid_t> allowed_uids;
    local::Applications* applications = nullptr;  // these outlive the server
    CommunicatorManager* communicators = nullptr;
  };
  // Errors as LocalSocket::Start.
  static absl::StatusOr<std::unique_ptr<WorkloadServer>> Start(Options options);
  virtual ~WorkloadServer() = default;
  virtual void Stop() = 0;
};

// Checks a request's fields that no other layer checks. InvalidArgument names the field.
absl::StatusOr<CreateOptions> ToCreateOptions(const std::string& name,
                                              const std::string& root_address, uint32_t rank,
                                              uint64_t deadline_ms, uint64_t timeout_ms);

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_WORKLOAD_SERVICE_H_
