// SPDX-License-Identifier: Apache-2.0
//
// Small helpers over TCP sockets: all descriptors are non-blocking and close-on-exec.
#ifndef CARAVAN_DAEMON_TRANSPORT_SOCKET_H_
#define CARAVAN_DAEMON_TRANSPORT_SOCKET_H_

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "daemon/transport/data_connection.h"

namespace caravan::transport {

// Deadlines are of this clock: nobody can set it back.
using SteadyTime = std::chrono::steady_clock::time_point;
// The moment on it that is as far away as `deadline` is now.
SteadyTime ToSteady(absl::Time deadline);

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  int Release();

 private:
  int fd_ = -1;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// "10.0.0.1:7401", "[::1]:7401" or "host:7401". InvalidArgument when it does not parse,
// Unavailable when the name does not resolve.
absl::StatusOr<SocketAddress> ParseAddress(const std::string& address);

absl::StatusOr<Descriptor> ConnectTo(const std::string& address, const SocketOptions& options,
                                     SteadyTime deadline);
// The next connection of the backlog, not yet configured, and the address that it comes from,
// without the port. -1 and errno as accept4().
Descriptor AcceptFrom(int listener, std::string* source);
absl::StatusOr<Descriptor> ListenOn(const std::string& address, const SocketOptions& options);
absl::StatusOr<int> LocalPort(int fd);
// TCP_NODELAY, congestion control and buffer sizes, as far as the kernel has them.
void Configure(int fd, const SocketOptions& options);

// Moves all of `bytes`, or fails: Unavailable at the end of the stream or on a reset,
// DeadlineExceeded.
absl::Status WriteAll(int fd, absl::Span<const uint8_t> bytes, SteadyTime deadline);
absl::Status ReadAll(int fd, absl::Span<uint8_t> bytes, SteadyTime deadline);

}  // namespace caravan::transport

#endif  // CARAVAN_DAEMON_TRANSPORT_SOCKET_H_
