// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/tcp.h"

// The kernel's tcp_info has fields that netinet/tcp.h, which cannot be included beside it, does not
// know.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

namespace caravan::session {

void TuneConnection(int fd) {
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);
}

absl::Duration RoundTripOf(int fd) {
  constexpr uint32_t kNotSeen = UINT32_MAX;
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return absl::ZeroDuration();
  const size_t needed = offsetof(tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt);
  if (size < needed || info.tcpi_min_rtt == kNotSeen) return absl::ZeroDuration();
  return absl::Microseconds(info.tcpi_min_rtt);
}

}  // namespace caravan::session
