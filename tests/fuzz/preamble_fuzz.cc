// SPDX-License-Identifier: Apache-2.0
//
// The data port: whoever cannot confirm the session's secret gets no lane, whatever it sends; each
// hello has one encoding; the listener lives on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "crypto/key_tree.h"
#include "daemon/transport/data_connection.h"
#include "daemon/transport/preamble.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

constexpr crypto::SessionId kSession = {1, 2, 3};
constexpr crypto::EpochId kEpoch = {4, 5, 6};

std::atomic<int> lanes{0};

int StartListener() {
  transport::DataListener::Options options;
  options.listen_address = "127.0.0.1:0";
  options.find_secret = [](const crypto::SessionId& id) {
    return id == kSession ? *crypto::SecretBytes::Copy(std::vector<uint8_t>(48, 7))
                          : crypto::SecretBytes();
  };
  options.knows_epoch = [](const crypto::SessionId&, const crypto::EpochId& epoch) {
    return epoch == kEpoch;
  };
  options.on_connection = [](transport::DataConnection) { ++lanes; };
  auto listener = transport::DataListener::Start(std::move(options));
  Require(listener.ok(), "the listener starts");
  return listener->release()->port();  // for the process's life
}

// The fuzzer's clock interrupts calls; a connection that was begun goes on.
bool Connect(int fd, const sockaddr_in& address) {
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return true;
  if (errno != EINTR) return false;
  pollfd made = {fd, POLLOUT, 0};
  while (poll(&made, 1, -1) < 0 && errno == EINTR) {
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

// Each connection from an address of its own: ports of ended ones may stay taken for a minute, and
// there are more connections in that time than ports.
int Dial(int port) {
  static uint16_t dialled = 0;
  ++dialled;
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(0x7F010000u | dialled);  // 127.1.0.0/16
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&source), sizeof(source)) != 0 ||
      !Connect(fd, address)) {
    std::perror("dialling the listener");
    Require(false, "the listener still takes connections");
  }
  return fd;
}

std::string Hello(const crypto::SessionId& session, const crypto::EpochId& epoch) {
  crypto::ConnectionId id;
  id.session = session;
  id.epoch = epoch;
  id.lane = 2;
  const transport::DiallerHello hello = transport::EncodeHello(id);
  return std::string(hello.begin(), hello.end());
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string confirmation(transport::kConfirmationSize, 'c');
  return {Hello(kSession, kEpoch) + confirmation, Hello(kSession, kEpoch),
          Hello(kSession, {}) + confirmation, Hello({}, kEpoch) + confirmation,
          Hello(kSession, kEpoch) + confirmation + std::string(64, 'r')};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  using fuzz::Require;
  const absl::Span<const uint8_t> hello(data, std::min(size, transport::kDiallerHelloSize));
  const auto id = transport::DecodeHello(hello);
  if (id.ok()) {
    const transport::DiallerHello again = transport::EncodeHello(*id);
    Require(std::equal(hello.begin(), hello.end(), again.begin(), again.end()),
            "hellos have one encoding");
  }
  static const int port = fuzz::StartListener();
  const int fd = fuzz::Dial(port);
  if (size > 0) (void)!send(fd, data, size, MSG_NOSIGNAL);
  shutdown(fd, SHUT_WR);
  uint8_t answer[256];
  size_t answered = 0;
  for (ssize_t n; (n = recv(fd, answer, sizeof(answer), 0)) > 0;) {
    answered += static_cast<size_t>(n);
  }
  // Its nonce at most, and that only for a session and an epoch that it knows.
  Require(answered == 0 || (id.ok() && id->session == fuzz::kSession && id->epoch == fuzz::kEpoch &&
                            answered == transport::kNonceSize),
          "strangers learn nothing");
  Require(fuzz::lanes == 0, "without the secret there is no lane");
  close(fd);
  return 0;
}
