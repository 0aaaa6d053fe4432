// SPDX-License-Identifier: Apache-2.0
//
// What data connections ask of their sockets.
#ifndef CARAVAN_DAEMON_TRANSPORT_SOCKET_H_
#define CARAVAN_DAEMON_TRANSPORT_SOCKET_H_

#include "daemon/transport/data_connection.h"

namespace caravan::transport {

// TCP_NODELAY, congestion control and buffer sizes, as far as the kernel has them.
void Configure(int fd, const SocketOptions& options);

}  // namespace caravan::transport

#endif  // CARAVAN_DAEMON_TRANSPORT_SOCKET_H_
