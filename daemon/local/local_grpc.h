// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_LOCAL_LOCAL_GRPC_H_
#define CARAVAN_DAEMON_LOCAL_LOCAL_GRPC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/local/fd_server.h"
#include "daemon/local/local_socket.h"

namespace caravan::local {

// A gRPC service on a Unix socket whose handlers know who calls. Thread-safe.
class LocalGrpc {
 public:
  // `service` outlives this object. Errors as LocalSocket::Start.
  static absl::StatusOr<std::unique_ptr<LocalGrpc>> Start(const std::string& path,
                                                          std::vector<uid_t> allowed_uids,
                                                          grpc::Service* service);
  ~LocalGrpc();  // Stop()

  // Who stands behind a call. `peer` is ServerContext::peer(). Unauthenticated: nobody known.
  absl::StatusOr<Credentials> CallerOf(const std::string& peer) const;
  // Closes the socket, ends the calls. Idempotent.
  void Stop();

 private:
  LocalGrpc() = default;
  FdMap<Credentials> callers_;
  std::unique_ptr<FdServer> server_;
  std::unique_ptr<LocalSocket> socket_;
};

}  // namespace caravan::local

#endif  // CARAVAN_DAEMON_LOCAL_LOCAL_GRPC_H_
