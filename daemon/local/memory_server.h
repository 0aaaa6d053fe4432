// SPDX-License-Identifier: Apache-2.0
//
// memory.sock (proto/caravan/v1/memory_socket.h): gives out tokens and memory. A connection is an
// application's life line: what the application has here ends with it.
#ifndef CARAVAN_DAEMON_LOCAL_MEMORY_SERVER_H_
#define CARAVAN_DAEMON_LOCAL_MEMORY_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/engine/shared_memory.h"
#include "daemon/local/applications.h"
#include "daemon/local/local_socket.h"

namespace caravan::local {

class MemoryServer {
 public:
  struct Options {
    std::string path;
    std::vector<uid_t> allowed_uids;
    Applications* applications = nullptr;  // outlives the server
    // The ring of a communicator of this application. Called on the server's thread: must not
    // block.
    std::function<absl::StatusOr<std::shared_ptr<engine::SharedMemory>>(const Application&,
                                                                        uint64_t handle)>
        find_ring;
    // The application's connection has closed, or misbehaved. Must not block.
    std::function<void(const Application&)> on_end;
    // Connections at most, those that have not said hello included.
    size_t max_connections = 8192;
  };
  // Errors as LocalSocket::Start.
  static absl::StatusOr<std::unique_ptr<MemoryServer>> Start(Options options);
  ~MemoryServer();  // Stop()

  // Closes all connections, and so ends all applications. Idempotent.
  void Stop();

 private:
  struct Connection {
    Credentials credentials;
    std::shared_ptr<Application> application;  // after hello
  };
  explicit MemoryServer(Options options, int wake_fd);
  void Run();
  void TakeNew(std::map<int, Connection>* connections);
  // False when the connection is to be closed.
  bool Serve(int fd, Connection* connection);
  absl::Status Answer(int fd, Connection* connection);
  void Close(int fd, const Connection& connection);

  const Options options_;
  const int wake_fd_;
  std::mutex mutex_;
  std::vector<std::pair<int, Credentials>> arrived_;
  bool stopping_ = false;
  std::unique_ptr<LocalSocket> socket_;
  std::thread thread_;
};

}  // namespace caravan::local

#endif  // CARAVAN_DAEMON_LOCAL_MEMORY_SERVER_H_
