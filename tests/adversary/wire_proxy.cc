// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/wire_proxy.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "crypto/record.h"

namespace caravan::adversary {
namespace {

bool ReadFully(int fd, uint8_t* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, bytes, size, 0);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool WriteFully(int fd, const uint8_t* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

std::pair<int, int> WireProxy::Connect(Tamper tamper, Tamper back) {
  int near[2];
  int far[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, near) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, far) != 0) {
    abort();
  }
  first_ = near[1];
  second_ = far[0];
  fcntl(near[0], F_SETFL, O_NONBLOCK);
  fcntl(far[1], F_SETFL, O_NONBLOCK);
  records_ = std::thread([this, tamper = std::move(tamper)] { Records(first_, second_, tamper); });
  rest_ = std::thread(
      [this, back = std::move(back)] { back ? Records(second_, first_, back) : Rest(); });
  return {near[0], far[1]};
}

WireProxy::~WireProxy() {
  if (first_ < 0) return;
  shutdown(first_, SHUT_RDWR);
  shutdown(second_, SHUT_RDWR);
  records_.join();
  rest_.join();
  close(first_);
  close(second_);
}

void WireProxy::Records(int from, int to, const Tamper& tamper) {
  for (int index = 0;; ++index) {
    WireBytes record(crypto::kRecordHeaderSize);
    if (!ReadFully(from, record.data(), record.size())) break;
    const auto header = crypto::DecodeRecordHeader(record);
    if (!header.ok()) abort();
    record.resize(header->payload_size + crypto::kRecordOverhead);
    if (!ReadFully(from, record.data() + crypto::kRecordHeaderSize,
                   record.size() - crypto::kRecordHeaderSize)) {
      break;
    }
    bool ended = false;
    for (const WireBytes& instead : tamper(index, record)) {
      ended |= instead.empty() || !WriteFully(to, instead.data(), instead.size());
    }
    if (ended) break;
  }
  shutdown(to, SHUT_RDWR);
}

void WireProxy::Rest() {
  WireBytes buffer(1 << 16);
  while (true) {
    const ssize_t n = recv(second_, buffer.data(), buffer.size(), 0);
    if (n <= 0 || !WriteFully(first_, buffer.data(), static_cast<size_t>(n))) break;
  }
}

}  // namespace caravan::adversary
