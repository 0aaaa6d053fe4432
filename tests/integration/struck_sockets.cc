// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/struck_sockets.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

namespace caravan::testing {
namespace {

constexpr int kSlowCalls = 3000;    // of a byte each
constexpr size_t kSlowBytes = 499;  // then so many

struct Behaviour {
  std::optional<SocketFault> fault;
  int calls = 0;
};

// A communicator's lanes are used on one thread of the engine. Threads that are ending may still close something.
thread_local bool has_sockets = false;

std::map<int, Behaviour>& Known() {
  thread_local std::map<int, Behaviour> known;
  has_sockets = true;
  return known;
}

void Reset(int fd) {
  // To disconnect an established connection is to send RST; the descriptor stays.
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  (void)!connect(fd, &nobody, sizeof(nobody));
}

// What a call may move: nothing with errno set, or up to so many bytes.
std::optional<size_t> Allowance(int fd, bool receives) {
  Behaviour& socket = Known()[fd];
  if (!socket.fault.has_value()) return SIZE_MAX;
  switch (*socket.fault) {
    case SocketFault::kReset:
      return SIZE_MAX;
    case SocketFault::kSlow:
      return ++socket.calls > kSlowCalls ? kSlowBytes : 1;
    case SocketFault::kNoMemory:
      socket.fault.reset();
      errno = ENOMEM;
      return std::nullopt;
    case SocketFault::kDeaf:
    case SocketFault::kFull:
      if (receives != (*socket.fault == SocketFault::kDeaf)) return SIZE_MAX;
      errno = EAGAIN;
      return std::nullopt;
  }
  return SIZE_MAX;
}

}  // namespace

void FailSockets(SocketFault fault) {
  for (auto& [fd, socket] : Known()) {
    socket = {fault, 0};
    if (fault == SocketFault::kReset) Reset(fd);
  }
}

}  // namespace caravan::testing

extern "C" ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  const auto allowed = caravan::testing::Allowance(fd, /*receives=*/true);
  if (!allowed.has_value()) return -1;
  return syscall(SYS_recvfrom, fd, buffer, std::min(size, *allowed), flags, nullptr, nullptr);
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const auto allowed = caravan::testing::Allowance(fd, /*receives=*/false);
  if (!allowed.has_value()) return -1;
  if (*allowed == SIZE_MAX || message->msg_iovlen == 0) {
    return syscall(SYS_sendmsg, fd, message, flags);
  }
  iovec first = message->msg_iov[0];
  first.iov_len = std::min(first.iov_len, *allowed);
  msghdr less = *message;
  less.msg_iov = &first;
  less.msg_iovlen = 1;
  return syscall(SYS_sendmsg, fd, &less, flags);
}

extern "C" int close(int fd) {
  if (caravan::testing::has_sockets) caravan::testing::Known().erase(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
