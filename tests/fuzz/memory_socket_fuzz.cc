// SPDX-License-Identifier: Apache-2.0
//
// memory.sock: an application that sends any packets gets replies of the protocol, descriptors for
// its own memory alone, and the server lives on.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "daemon/local/memory_server.h"
#include "proto/caravan/v1/memory_socket.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using v1::MemoryRequestKind;

const std::string& Path() {
  static const std::string& path =
      *new std::string("/tmp/caravan-fuzz-" + std::to_string(getpid()) + ".sock");
  return path;
}

void StartServer() {
  base::SetLogLevel(base::Level::kError);  // every connection would make a line
  static auto& applications = *new local::Applications(8, 1 << 20);
  local::MemoryServer::Options options;
  options.path = Path();
  options.allowed_uids = {geteuid()};
  options.applications = &applications;
  options.find_ring = [](const local::Application&,
                         uint64_t) -> absl::StatusOr<std::shared_ptr<engine::SharedMemory>> {
    return absl::NotFoundError("handle: no such communicator");
  };
  options.on_end = [](const local::Application&) {};
  auto server = local::MemoryServer::Start(std::move(options));
  Require(server.ok(), "the server starts");
  // For the process's life; the socket's file goes at its end.
  static auto& running = *server->release();
  std::atexit([] { running.Stop(); });
}

int Dial() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, Path().c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  int failed = -1;
  do {  // the fuzzer's clock interrupts calls
    failed = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } while (failed != 0 && errno == EINTR);
  Require(failed == 0, "the server still takes connections");
  return fd;
}

// False at the end of the connection. `passed`: whether a descriptor came along.
bool Receive(int fd, v1::MemoryReply* reply, bool* passed) {
  iovec bytes{reply, sizeof(*reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return false;
  Require(size == sizeof(*reply) && reply->magic == v1::kMemoryMagic, "replies are of one form");
  Require(reply->message[sizeof(reply->message) - 1] == 0, "messages end");
  *passed = false;
  if (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    Require(header->cmsg_len == CMSG_LEN(sizeof(int)), "one descriptor at most");
    int got;
    std::memcpy(&got, CMSG_DATA(header), sizeof(got));
    close(got);
    *passed = true;
  }
  return true;
}

std::string Request(MemoryRequestKind kind, uint64_t id = 0) {
  const v1::MemoryRequest request = {v1::kMemoryMagic, v1::kMemoryVersion, kind, 0, id};
  return std::string(reinterpret_cast<const char*>(&request), sizeof(request));
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string hello = Request(MemoryRequestKind::kHello);
  return {hello, hello + hello,
          hello + Request(MemoryRequestKind::kBuffer, 1) + Request(MemoryRequestKind::kRing, 1),
          Request(MemoryRequestKind::kBuffer, 1), hello + hello.substr(0, 20)};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  static const bool started = (fuzz::StartServer(), true);
  (void)started;
  const int fd = fuzz::Dial();
  constexpr size_t kPacket = sizeof(v1::MemoryRequest);
  size_t packets = 0;
  for (size_t at = 0; at < size && packets < 16; at += kPacket, ++packets) {
    if (send(fd, data + at, std::min(size - at, kPacket), MSG_NOSIGNAL) < 0) break;
  }
  shutdown(fd, SHUT_WR);
  v1::MemoryReply reply;
  bool passed = false;
  size_t replies = 0;
  while (fuzz::Receive(fd, &reply, &passed)) {
    ++replies;
    // No communicator and no buffer was made here: hello's eventfd is all there is to get.
    fuzz::Require(!passed || (reply.code == 0 && replies == 1), "descriptors go with success");
  }
  fuzz::Require(replies <= packets, "a packet has one reply at most");
  close(fd);
  return 0;
}
