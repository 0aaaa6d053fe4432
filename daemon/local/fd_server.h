// SPDX-License-Identifier: Apache-2.0
//
// A gRPC server that listens nowhere: it serves connected descriptors that it is given, and tells
// each handler who stands behind its call.
#ifndef CARAVAN_DAEMON_LOCAL_FD_SERVER_H_
#define CARAVAN_DAEMON_LOCAL_FD_SERVER_H_

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace grpc {
class Server;
class Service;
class ServerContextBase;
class Status;
}  // namespace grpc

namespace caravan::local {

// Who stands behind a descriptor. gRPC names a call's connection "fd:N"; N is used again once a
// connection has closed, so an entry is written before the descriptor is handed over and only ever
// overwritten. Thread-safe.
template <typename T>
class FdMap {
 public:
  void Set(int fd, T value) {
    std::lock_guard<std::mutex> lock(mutex_);
    by_peer_["fd:" + std::to_string(fd)] = std::move(value);
  }
  // `peer` is ServerContext::peer().
  bool Find(const std::string& peer, T* value) const {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = by_peer_.find(peer);
    if (found == by_peer_.end()) return false;
    *value = found->second;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, T> by_peer_;
};

class FdServer {
 public:
  struct Options {
    std::vector<grpc::Service*> services;  // outlive the server
    int max_message_bytes = 1 << 20;
    int max_threads = 1024;  // calls that may block at a time
    bool keepalive = false;  // the other end may vanish without a word
  };
  static absl::StatusOr<std::unique_ptr<FdServer>> Start(const Options& options);
  ~FdServer();  // Stop()

  // Serves `fd`, a connected, non-blocking stream; owns it. Closes it when it is blocking: one
  // blocking descriptor would stall the whole server.
  absl::Status Add(int fd);
  // Refuses new calls, waits `grace` for running ones, cancels the rest. Idempotent.
  void Stop(absl::Duration grace = absl::Seconds(1));

 private:
  explicit FdServer(std::unique_ptr<grpc::Server> server);
  std::unique_ptr<grpc::Server> server_;
  bool stopped_ = false;
};

// Status codes have the same numbers on both sides.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace caravan::local

#endif  // CARAVAN_DAEMON_LOCAL_FD_SERVER_H_
