// SPDX-License-Identifier: Apache-2.0
#include "daemon/transport/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace caravan::transport {
namespace {

absl::Status WaitFor(int fd, short events, SteadyTime deadline) {
  while (true) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) return absl::DeadlineExceededError("the deadline passed");
    const int64_t ms = std::clamp<int64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1, 1, 1000);
    pollfd p{fd, events, 0};
    const int ready = poll(&p, 1, static_cast<int>(ms));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("poll failed: ", std::strerror(errno)));
    }
  }
}

}  // namespace

SteadyTime ToSteady(absl::Time deadline) {
  // What is further away than a day is as good as a day, and fits.
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24));
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(left);
}

Descriptor AcceptFrom(int listener, std::string* source) {
  sockaddr_storage from{};
  socklen_t size = sizeof(from);
  Descriptor fd(
      accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.get() < 0) return fd;
  char host[NI_MAXHOST] = "";
  (void)getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host, sizeof(host), nullptr, 0,
                    NI_NUMERICHOST);
  *source = host;
  return fd;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.Release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int Descriptor::Release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

absl::StatusOr<SocketAddress> ParseAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", address, "\" has no port: expected host:port"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("address \"", address, "\" does not resolve: ", gai_strerror(error)));
  }
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

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

absl::StatusOr<Descriptor> ConnectTo(const std::string& address, const SocketOptions& options,
                                     SteadyTime deadline) {
  auto where = ParseAddress(address);
  if (!where.ok()) return where.status();
  Descriptor fd(socket(where->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no socket for ", address, ": ", std::strerror(errno)));
  }
  Configure(fd.get(), options);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->size) == 0) {
    return fd;
  }
  if (errno != EINPROGRESS) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", address, ": ", std::strerror(errno)));
  }
  if (auto s = WaitFor(fd.get(), POLLOUT, deadline); !s.ok()) {
    return absl::Status(s.code(), absl::StrCat("connecting to ", address, ": ", s.message()));
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", address, ": ", std::strerror(error)));
  }
  return fd;
}

absl::StatusOr<Descriptor> ListenOn(const std::string& address, const SocketOptions& options) {
  auto where = ParseAddress(address);
  if (!where.ok()) return where.status();
  Descriptor fd(socket(where->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no socket for ", address, ": ", std::strerror(errno)));
  }
  const int one = 1;
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  // Accepted sockets inherit the sizes; the window scale is fixed at the handshake.
  Configure(fd.get(), options);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->size) != 0 ||
      listen(fd.get(), 512) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
  }
  return fd;
}

absl::StatusOr<int> LocalPort(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return absl::InternalError(absl::StrCat("getsockname failed: ", std::strerror(errno)));
  }
  if (bound.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

absl::Status WriteAll(int fd, absl::Span<const uint8_t> bytes, SteadyTime deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      if (auto s = WaitFor(fd, POLLOUT, deadline); !s.ok()) return s;
    } else if (n < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("the connection broke: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, absl::Span<uint8_t> bytes, SteadyTime deadline) {
  while (!bytes.empty()) {
    const ssize_t n = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (n == 0) {
      return absl::UnavailableError("the other side closed the connection");
    } else if (errno == EAGAIN) {
      if (auto s = WaitFor(fd, POLLIN, deadline); !s.ok()) return s;
    } else if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("the connection broke: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

}  // namespace caravan::transport
