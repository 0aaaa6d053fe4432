// SPDX-License-Identifier: Apache-2.0
#include "http/http_server_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace caravan::http {
namespace {

// True once head and body are there, by Content-Length.
bool Complete(const std::string& request) {
  const size_t end = request.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::string head = absl::AsciiStrToLower(request.substr(0, end + 2));
  const std::string name = "\r\ncontent-length: ";
  const size_t at = head.find(name);
  size_t length = 0;
  if (at != std::string::npos) {
    const size_t begin = at + name.size();
    (void)absl::SimpleAtoi(head.substr(begin, head.find("\r\n", begin) - begin), &length);
  }
  return request.size() >= end + 4 + length;
}

}  // namespace

ServerForTest::ServerForTest(Answer answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  if (listen(listener_, 16) != 0) std::abort();
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

ServerForTest::~ServerForTest() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

std::string ServerForTest::url(const std::string& path) const {
  return absl::StrCat("http://127.0.0.1:", port_, path);
}

std::string ServerForTest::Ok(const std::string& body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

void ServerForTest::Serve() {
  while (!stopping_) {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, 20) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ServeOne(fd);
    close(fd);
  }
}

void ServerForTest::ServeOne(int fd) {
  std::string request;
  char block[4096];
  while (!Complete(request) && !stopping_) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, 20) <= 0) continue;
    const ssize_t n = read(fd, block, sizeof(block));
    if (n <= 0) return;
    request.append(block, static_cast<size_t>(n));
  }
  ++requests_;
  std::string answer = answer_(request);
  size_t sent = 0;
  while (sent < answer.size()) {
    const ssize_t n = send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

}  // namespace caravan::http
