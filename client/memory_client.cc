// SPDX-License-Identifier: Apache-2.0
#include "client/memory_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::client {
namespace {

constexpr int kHighestStatusCode = 16;  // absl::StatusCode::kUnauthenticated

absl::Status WentAway(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("the daemon at ", path, " went away"));
}

// Takes every descriptor out of a message, so that none leaks whatever the message holds.
std::vector<base::Descriptor> TakeDescriptors(msghdr& message) {
  std::vector<base::Descriptor> out;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      out.emplace_back(fd);
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<base::Descriptor> ConnectUnix(const std::string& path, int type,
                                             absl::Duration timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": longer than the ", sizeof address.sun_path - 1,
                     " bytes that a Unix socket's path may have; use a shorter runtime folder"));
  }
  memcpy(address.sun_path, path.data(), path.size());
  base::Descriptor fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("making a socket for ", path, ": ", strerror(errno)));
  }
  // Connecting to a full backlog blocks for the send time-out, not for ever.
  const timeval limit = absl::ToTimeval(std::max(timeout, absl::Milliseconds(1)));
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int result;
  do {
    result = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return fd;
  const int error = errno;
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": this user may not connect; ask for membership in its group"));
  }
  if (error == EAGAIN) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the daemon at ", path, " took no connection within ", absl::FormatDuration(timeout)));
  }
  return absl::UnavailableError(
      absl::StrCat("no daemon at ", path, ": ", strerror(error),
                   "; start caravand, or set CARAVAN_RUNTIME_DIR to the folder of its sockets"));
}

absl::StatusOr<std::unique_ptr<MemoryClient>> MemoryClient::Connect(const std::string& path,
                                                                    absl::Duration timeout) {
  auto socket = ConnectUnix(path, SOCK_SEQPACKET, timeout);
  if (!socket.ok()) return socket.status();
  std::unique_ptr<MemoryClient> client(new MemoryClient(*std::move(socket), path, timeout));
  auto answer = client->Ask(v1::MemoryRequestKind::kHello, 0);
  if (!answer.ok()) return answer.status();
  client->token_.assign(reinterpret_cast<const char*>(answer->reply.token),
                        sizeof answer->reply.token);
  client->wake_ = std::move(answer->fd);
  return client;
}

absl::StatusOr<MemoryClient::Memory> MemoryClient::Fetch(v1::MemoryRequestKind kind, uint64_t id) {
  auto answer = Ask(kind, id);
  if (!answer.ok()) return answer.status();
  return Memory{std::move(answer->fd), answer->reply.size};
}

absl::StatusOr<MemoryClient::Answer> MemoryClient::Ask(v1::MemoryRequestKind kind, uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!broken_.ok()) return broken_;
  auto answer = AskLocked(kind, id);
  if (!answer.ok()) {
    // A late answer would be taken for the next request's.
    broken_ = answer.status();
    return broken_;
  }
  if (answer->reply.code != 0) {
    const char* text = answer->reply.message;
    return absl::Status(static_cast<absl::StatusCode>(answer->reply.code),
                        std::string(text, strnlen(text, sizeof answer->reply.message)));
  }
  return answer;
}

absl::StatusOr<MemoryClient::Answer> MemoryClient::AskLocked(v1::MemoryRequestKind kind,
                                                             uint64_t id) {
  const v1::MemoryRequest request{v1::kMemoryMagic, v1::kMemoryVersion, kind, 0, id};
  ssize_t sent;
  do {
    sent = send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A daemon that refuses this user answers and closes before it is asked: its answer may be there
  // although nobody takes the request.
  const bool closed = sent < 0 && (errno == EPIPE || errno == ECONNRESET);
  if (sent != sizeof request && !closed) return WentAway(path_);

  const absl::Time deadline = absl::Now() + timeout_;
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    pollfd waiting{socket_.get(), POLLIN, 0};
    const int ready =
        poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 24 * 3600 * 1000)));
    if (ready > 0) return Receive();
    if (ready < 0 && errno == EINTR) continue;
    return absl::DeadlineExceededError(absl::StrCat(
        "the daemon at ", path_, " did not answer within ", absl::FormatDuration(timeout_)));
  }
}

absl::StatusOr<MemoryClient::Answer> MemoryClient::Receive() {
  Answer answer{};
  iovec part{&answer.reply, sizeof answer.reply};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  // A reset is reported once, before what was sent ahead of it.
  if (got < 0 && errno == ECONNRESET) got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return WentAway(path_);
  std::vector<base::Descriptor> fds = TakeDescriptors(message);
  if (got != sizeof answer.reply || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      answer.reply.magic != v1::kMemoryMagic || answer.reply.code > kHighestStatusCode) {
    return absl::InternalError(absl::StrCat(
        path_, ": the answer is not of Caravan's memory protocol, version ", v1::kMemoryVersion,
        "; the daemon and this library must be of matching versions"));
  }
  const size_t expected = answer.reply.code == 0 ? 1 : 0;
  if (fds.size() != expected) {
    return absl::InternalError(absl::StrCat(path_, ": the daemon's answer carries ", fds.size(),
                                            " descriptors, expected ", expected));
  }
  if (expected == 1) answer.fd = std::move(fds[0]);
  return answer;
}

}  // namespace caravan::client
