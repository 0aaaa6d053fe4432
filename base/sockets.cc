// SPDX-License-Identifier: Apache-2.0
#include "base/sockets.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace caravan::base {
namespace {

constexpr int kBacklog = 512;

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

std::string ErrnoText(absl::string_view doing, const std::string& address, int error) {
  return absl::StrCat("cannot ", doing, " ", address, ": ", std::strerror(error));
}

absl::StatusOr<Descriptor> Open(const SocketAddress& target, const std::string& address) {
  Descriptor fd(socket(target.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.valid()) return fd;
  return absl::ResourceExhaustedError(ErrnoText("open a socket for", address, errno));
}

absl::StatusOr<Descriptor> ConnectOne(const SocketAddress& target, const std::string& address,
                                      SteadyTime deadline, int cancel_fd,
                                      ConfigureSocket configure) {
  absl::StatusOr<Descriptor> fd = Open(target, address);
  if (!fd.ok()) return fd.status();
  configure(fd->get());
  if (connect(fd->get(), target.get(), target.size) == 0) return fd;
  if (errno != EINPROGRESS) return absl::UnavailableError(ErrnoText("connect to", address, errno));
  while (true) {
    pollfd fds[2] = {{fd->get(), POLLOUT, 0}, {cancel_fd, POLLIN, 0}};
    const int ready = poll(fds, 2, PollTimeout(deadline, 1000));
    if (ready < 0 && errno != EINTR) {
      return absl::UnavailableError(ErrnoText("connect to", address, errno));
    }
    if (ready > 0 && fds[1].revents != 0) return absl::CancelledError("connecting was cancelled");
    if (ready > 0 && fds[0].revents != 0) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("cannot connect to ", address, " in time"));
    }
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd->get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return absl::UnavailableError(ErrnoText("connect to", address, error));
  return fd;
}

}  // namespace

absl::StatusOr<Descriptor> Listen(const std::string& address, ConfigureSocket configure) {
  const auto targets = Resolve(address, /*passive=*/true);
  if (!targets.ok()) return targets.status();
  const SocketAddress& target = targets->front();
  absl::StatusOr<Descriptor> fd = Open(target, address);
  if (!fd.ok()) return fd.status();
  const int on = 1;
  (void)setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accepted sockets inherit sizes; the window scale is fixed at the handshake.
  configure(fd->get());
  if (bind(fd->get(), target.get(), target.size) != 0 || listen(fd->get(), kBacklog) != 0) {
    return absl::UnavailableError(ErrnoText("listen on", address, errno));
  }
  return fd;
}

absl::StatusOr<Descriptor> Connect(const std::string& address, SteadyTime deadline, int cancel_fd,
                                   ConfigureSocket configure) {
  const auto targets = Resolve(address, /*passive=*/false);
  if (!targets.ok()) return targets.status();
  absl::Status last;
  for (const SocketAddress& target : *targets) {
    absl::StatusOr<Descriptor> fd = ConnectOne(target, address, deadline, cancel_fd, configure);
    if (fd.ok()) return fd;
    last = fd.status();
    if (!absl::IsUnavailable(last)) break;
  }
  return last;
}

absl::StatusOr<Accepted> Accept(int listener) {
  while (true) {
    SocketAddress from;
    from.size = sizeof(from.storage);
    Descriptor fd(accept4(listener, reinterpret_cast<sockaddr*>(&from.storage), &from.size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) return Accepted{std::move(fd), from.Text()};
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot accept a connection: ", std::strerror(errno)));
    }
    return Accepted{};
  }
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

}  // namespace caravan::base
