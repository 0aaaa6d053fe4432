// SPDX-License-Identifier: Apache-2.0
#include "daemon/transport/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace caravan::transport {

void Configure(int fd, const SocketOptions& options) {
  const int one = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (!options.congestion_control.empty()) {
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion_control.data(),
                     static_cast<socklen_t>(options.congestion_control.size()));
  }
  if (options.send_buffer > 0) {
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options.send_buffer, sizeof(int));
  }
  if (options.receive_buffer > 0) {
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof(int));
  }
}

}  // namespace caravan::transport
