// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/struck_sockets.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>

namespace caravan::testing {
namespace {

constexpr int kSlowCalls = 100;
constexpr int kSlowMs = 5;

struct Behaviour {
  std::optional<SocketFault> fault;
  int calls = 0;
};

// A communicator's lanes are used on one thread of the engine. Threads that are ending may still
// close something.
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

// Whether a call goes to the kernel; else errno says what it fails with. Never less than was asked
// for: a call that moves less tells its caller that the socket is empty, or full.
bool MayGo(int fd, bool receives) {
  Behaviour& socket = Known()[fd];
  if (!socket.fault.has_value()) return true;
  switch (*socket.fault) {
    case SocketFault::kReset:
      return true;
    case SocketFault::kSlow:
      if (++socket.calls <= kSlowCalls) poll(nullptr, 0, kSlowMs);
      return true;
    case SocketFault::kNoMemory:
      socket.fault.reset();
      errno = ENOMEM;
      return false;
    case SocketFault::kDeaf:
    case SocketFault::kFull:
      errno = EAGAIN;
      return receives != (*socket.fault == SocketFault::kDeaf);
  }
  return true;
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
  if (!caravan::testing::MayGo(fd, /*receives=*/true)) return -1;
  return syscall(SYS_recvfrom, fd, buffer, size, flags, nullptr, nullptr);
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (!caravan::testing::MayGo(fd, /*receives=*/false)) return -1;
  return syscall(SYS_sendmsg, fd, message, flags);
}

extern "C" int close(int fd) {
  if (caravan::testing::has_sockets) caravan::testing::Known().erase(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
