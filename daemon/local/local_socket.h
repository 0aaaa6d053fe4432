// SPDX-License-Identifier: Apache-2.0
//
// A Unix socket that knows who connects (SO_PEERCRED) and turns away who may not.
#ifndef CARAVAN_DAEMON_LOCAL_LOCAL_SOCKET_H_
#define CARAVAN_DAEMON_LOCAL_LOCAL_SOCKET_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace caravan::local {

// Who stands at the other end, as of connect().
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

class LocalSocket {
 public:
  struct Options {
    std::string path;      // at most 107 bytes
    bool packets = false;  // SOCK_SEQPACKET; SOCK_STREAM otherwise
    std::vector<uid_t> allowed_uids;
    // Both are called on the socket's thread and own the descriptor: non-blocking, close-on-exec.
    std::function<void(int fd, const Credentials&)> on_connection;
    // Somebody else's: say why, if there is a way, and close it. Default: close.
    std::function<void(int fd, const Credentials&)> on_refused;
  };
  // Binds (mode 0600, or 0666 where other users than this one are allowed: the kernel's word for
  // who connects then decides alone) and accepts on a thread of its own. A socket file that nobody
  // answers on is replaced; AlreadyExists when somebody does, or when the file is no socket.
  // InvalidArgument: the path is too long.
  static absl::StatusOr<std::unique_ptr<LocalSocket>> Start(Options options);
  ~LocalSocket();  // Stop()
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

  // Stops accepting, removes the file, joins the thread. Idempotent.
  void Stop();

 private:
  LocalSocket(Options options, base::Descriptor fd, base::Descriptor wake);
  void Run();
  void Accept();

  const Options options_;
  base::Descriptor fd_;
  base::Descriptor wake_;
  std::thread thread_;
};

}  // namespace caravan::local

#endif  // CARAVAN_DAEMON_LOCAL_LOCAL_SOCKET_H_
