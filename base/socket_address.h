// SPDX-License-Identifier: Apache-2.0
//
// Addresses of network ports, as people and configurations write them.
#ifndef CARAVAN_BASE_SOCKET_ADDRESS_H_
#define CARAVAN_BASE_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace caravan::base {

// A host and a port, as in "10.0.0.1:7400", "[::1]:7400", "node-a:7400".
struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;

  bool wildcard() const { return host == "0.0.0.0" || host == "::"; }
  std::string ToString() const;  // in brackets where the host holds a colon
};

// InvalidArgument: no port, a port over 65535, no host or one over 255 bytes, an IPv6 address
// without brackets.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// What bind() and connect() take.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  // The numeric host and the port; empty for a family other than IPv4 and IPv6.
  HostPort Text() const;
};

// All addresses of "host:port", at least one; `passive`: to listen on. InvalidArgument as
// ParseHostPort; Unavailable when the name does not resolve. May block on a name server.
absl::StatusOr<std::vector<SocketAddress>> Resolve(absl::string_view text, bool passive);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_SOCKET_ADDRESS_H_
