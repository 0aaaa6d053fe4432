// SPDX-License-Identifier: Apache-2.0
//
// The application's end of memory.sock: the token, the wake eventfd, buffers and rings.
#ifndef CARAVAN_CLIENT_MEMORY_CLIENT_H_
#define CARAVAN_CLIENT_MEMORY_CLIENT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/descriptor.h"
#include "client/mapping.h"
#include "proto/caravan/v1/memory_socket.h"

namespace caravan::client {

// Connects to a Unix socket of the daemon; close-on-exec. Unavailable: nobody listens there.
// PermissionDenied: the file's mode keeps this user out. InvalidArgument: the path is too long.
// DeadlineExceeded: the daemon's backlog stays full.
absl::StatusOr<base::Descriptor> ConnectUnix(const std::string& path, int type,
                                             absl::Duration timeout);

// Thread-safe. After an answer that is late or malformed the connection is of no use and every
// later call fails.
class MemoryClient {
 public:
  // Connects and says hello. The daemon's own refusal (PermissionDenied, FailedPrecondition for
  // another protocol version) comes back as it is.
  static absl::StatusOr<std::unique_ptr<MemoryClient>> Connect(const std::string& path,
                                                               absl::Duration timeout);

  const std::string& token() const { return token_; }  // 32 bytes
  int wake_fd() const { return wake_.get(); }          // eventfd
  int fd() const { return socket_.get(); }             // readable end of file: the daemon is gone

  struct Memory {
    base::Descriptor fd;
    uint64_t size = 0;
  };
  absl::StatusOr<Memory> Fetch(v1::MemoryRequestKind kind, uint64_t id);

 private:
  struct Answer {
    v1::MemoryReply reply;
    base::Descriptor fd;
  };
  MemoryClient(base::Descriptor socket, std::string path, absl::Duration timeout)
      : socket_(std::move(socket)), path_(std::move(path)), timeout_(timeout) {}
  absl::StatusOr<Answer> Ask(v1::MemoryRequestKind kind, uint64_t id);
  absl::StatusOr<Answer> AskLocked(v1::MemoryRequestKind kind, uint64_t id);
  absl::StatusOr<Answer> Receive();

  const base::Descriptor socket_;
  const std::string path_;
  const absl::Duration timeout_;
  std::string token_;
  base::Descriptor wake_;
  std::mutex mutex_;
  absl::Status broken_;  // guarded by mutex_
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_MEMORY_CLIENT_H_
