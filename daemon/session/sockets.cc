// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

constexpr int kBacklog = 512;

struct AddrInfoDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddrInfoPtr = std::unique_ptr<addrinfo, AddrInfoDeleter>;

absl::StatusOr<AddrInfoPtr> Resolve(const std::string& address, bool passive) {
  absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return parsed.status();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int result =
      getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &list);
  if (result != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve ", address, ": ", gai_strerror(result)));
  }
  return AddrInfoPtr(list);
}

std::string ErrnoText(absl::string_view doing, const std::string& address, int error) {
  return absl::StrCat("cannot ", doing, " ", address, ": ", std::strerror(error));
}

std::string HostText(const sockaddr_storage& address, uint16_t* port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    *port = ntohs(v4->sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    *port = ntohs(v6->sin6_port);
  }
  return text;
}

absl::StatusOr<Descriptor> DialOne(const addrinfo& target, const std::string& address,
                                   SteadyTime deadline, int cancel_fd) {
  Descriptor fd(socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.open())
    return absl::ResourceExhaustedError(ErrnoText("open a socket to", address, errno));
  if (connect(fd.get(), target.ai_addr, target.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return absl::UnavailableError(ErrnoText("connect to", address, errno));
  while (true) {
    pollfd fds[2] = {{fd.get(), POLLOUT, 0}, {cancel_fd, POLLIN, 0}};
    const int ready = poll(fds, 2, PollTimeout(deadline, 1000));
    if (ready < 0 && errno != EINTR) {
      return absl::UnavailableError(ErrnoText("connect to", address, errno));
    }
    if (ready > 0 && fds[1].revents != 0) return absl::CancelledError("connecting was cancelled");
    if (ready > 0 && fds[0].revents != 0) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      return Refusal(absl::StatusCode::kDeadlineExceeded, kDeadline,
                     absl::StrCat("cannot connect to ", address, " in time"));
    }
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return absl::UnavailableError(ErrnoText("connect to", address, error));
  return fd;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

void Descriptor::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& address) {
  const auto malformed = [&address] {
    return absl::InvalidArgumentError(absl::StrCat("address \"", address.substr(0, 256),
                                                   "\": expected host:port or [host]:port"));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || address.size() > 256) return malformed();
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return malformed();
  }
  uint32_t number = 0;
  if (host.empty() || port.empty() || port.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port, &number) || number > 65535) {
    return malformed();
  }
  return HostPort{host, static_cast<uint16_t>(number)};
}

absl::StatusOr<Descriptor> Listen(const std::string& address, int* port) {
  absl::StatusOr<AddrInfoPtr> list = Resolve(address, /*passive=*/true);
  if (!list.ok()) return list.status();
  const addrinfo& target = **list;
  Descriptor fd(socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!fd.open() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), target.ai_addr, target.ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0) {
    return absl::UnavailableError(ErrnoText("listen on", address, errno));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  uint16_t number = 0;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  HostText(bound, &number);
  *port = number;
  return fd;
}

absl::StatusOr<Descriptor> Dial(const std::string& address, SteadyTime deadline, int cancel_fd) {
  absl::StatusOr<AddrInfoPtr> list = Resolve(address, /*passive=*/false);
  if (!list.ok()) return list.status();
  absl::Status last = absl::UnavailableError(absl::StrCat("no address for ", address));
  for (const addrinfo* target = list->get(); target != nullptr; target = target->ai_next) {
    absl::StatusOr<Descriptor> fd = DialOne(*target, address, deadline, cancel_fd);
    if (fd.ok()) {
      TuneConnection(fd->get());
      return fd;
    }
    last = fd.status();
    if (last.code() != absl::StatusCode::kUnavailable) break;
  }
  return last;
}

absl::StatusOr<Descriptor> AcceptOne(int listen_fd, std::string* peer, std::string* source) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  Descriptor fd(accept4(listen_fd, reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.open()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot accept a connection: ", std::strerror(errno)));
    }
    return fd;
  }
  uint16_t port = 0;
  *source = HostText(address, &port);
  *peer = address.ss_family == AF_INET6 ? absl::StrCat("[", *source, "]:", port)
                                        : absl::StrCat(*source, ":", port);
  TuneConnection(fd.get());
  return fd;
}

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

int PollTimeout(SteadyTime deadline, int most) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  // Rounded up, so that a wait of less than a millisecond does not spin.
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, most));
}

}  // namespace caravan::session
