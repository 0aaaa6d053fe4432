// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/tls_ring.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/peers/tls_socket.h"

namespace caravan::bench {
namespace {

constexpr size_t kRead = 16384;  // a TLS record's plaintext at most

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

absl::StatusOr<int> Dial(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot connect to 127.0.0.1:", port));
  }
  return fd;
}

void AddInto(float* to, const uint8_t* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, from + i * sizeof(float), sizeof(float));
    to[i] += value;
  }
}

}  // namespace

absl::Status ListenAll(int ranks, std::vector<int>* listeners, std::vector<uint16_t>* ports) {
  for (int rank = 0; rank < ranks; ++rank) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    socklen_t length = sizeof(address);
    if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(fd, 4) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      return absl::ErrnoToStatus(errno, "cannot listen on 127.0.0.1");
    }
    listeners->push_back(fd);
    ports->push_back(ntohs(address.sin_port));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TlsRing>> TlsRing::Connect(int rank,
                                                          const std::vector<int>& listeners,
                                                          const std::vector<uint16_t>& ports) {
  const int size = static_cast<int>(listeners.size());
  std::unique_ptr<TlsRing> ring(new TlsRing(rank, size));
  ring->scratch_.resize(kRead + sizeof(float));
  if (size == 1) return ring;
  const absl::StatusOr<int> out = Dial(ports[(rank + 1) % size]);
  if (!out.ok()) return out.status();
  // All ranks shake hands with both neighbours at once: in turn they would wait in a circle.
  absl::StatusOr<std::unique_ptr<TlsSocket>> next;
  std::thread dialling([&] { next = TlsSocket::Handshake(*out, /*server=*/false); });
  absl::StatusOr<std::unique_ptr<TlsSocket>> previous;
  const int in = accept4(listeners[rank], nullptr, nullptr, SOCK_CLOEXEC);
  if (in >= 0) previous = TlsSocket::Handshake(in, /*server=*/true);
  dialling.join();
  if (in < 0) return absl::ErrnoToStatus(errno, "cannot accept");
  if (!next.ok()) return next.status();
  if (!previous.ok()) return previous.status();
  ring->next_ = *std::move(next);
  ring->previous_ = *std::move(previous);
  return ring;
}

TlsRing::TlsRing(int rank, int size) : rank_(rank), size_(size) {}

TlsRing::~TlsRing() = default;

std::vector<TlsRing::Hop> TlsRing::PlanHops(size_t count) const {
  const auto first = [&](int part) { return count * part / size_; };
  const auto part = [&](int i) { return ((i % size_) + size_) % size_; };
  std::vector<Hop> hops;
  for (int step = 0; step < 2 * (size_ - 1); ++step) {
    const bool reduce = step < size_ - 1;
    // Reduce-scatter ends with part rank+1 whole here, which all-gather then sends first.
    const int out = part(rank_ - step);
    const int in = part(rank_ - step - 1);
    hops.push_back({first(out), first(out + 1) - first(out), first(in), first(in + 1) - first(in),
                    reduce});
  }
  return hops;
}

absl::StatusOr<bool> TlsRing::SendSome(const std::vector<Hop>& hops, const uint8_t* data) {
  while (sent_.hop < hops.size()) {
    const Hop& hop = hops[sent_.hop];
    const size_t all = hop.send_count * sizeof(float);
    // What leaves in hop h is what arrived in hop h - 1.
    size_t ready = all;
    if (sent_.hop > 0 && received_.hop + 1 == sent_.hop) {
      ready = received_.done / sizeof(float) * sizeof(float);
    } else if (sent_.hop > 0 && received_.hop + 1 < sent_.hop) {
      ready = 0;
    }
    if (sent_.done == all) {
      sent_ = {sent_.hop + 1, 0};
      continue;
    }
    if (sent_.done >= ready) return false;
    const uint8_t* from = data + hop.send_first * sizeof(float) + sent_.done;
    const absl::StatusOr<size_t> moved = next_->Write(from, ready - sent_.done);
    if (!moved.ok()) return moved.status();
    sent_.done += *moved;
    return *moved > 0;
  }
  return false;
}

absl::StatusOr<bool> TlsRing::ReceiveSome(const std::vector<Hop>& hops, float* data) {
  while (received_.hop < hops.size() &&
         received_.done == hops[received_.hop].recv_count * sizeof(float)) {
    received_ = {received_.hop + 1, 0};
  }
  if (received_.hop == hops.size()) return false;
  const Hop& hop = hops[received_.hop];
  const size_t left = hop.recv_count * sizeof(float) - received_.done;
  uint8_t* place = reinterpret_cast<uint8_t*>(data + hop.recv_first) + received_.done;
  if (!hop.reduce) {
    const absl::StatusOr<size_t> moved = previous_->Read(place, std::min(left, kRead));
    if (!moved.ok()) return moved.status();
    received_.done += *moved;
    return *moved > 0;
  }
  const absl::StatusOr<size_t> moved =
      previous_->Read(scratch_.data() + scratch_used_, std::min(left - scratch_used_, kRead));
  if (!moved.ok()) return moved.status();
  scratch_used_ += *moved;
  const size_t whole = scratch_used_ / sizeof(float);
  AddInto(reinterpret_cast<float*>(place), scratch_.data(), whole);
  scratch_used_ -= whole * sizeof(float);
  std::memmove(scratch_.data(), scratch_.data() + whole * sizeof(float), scratch_used_);
  received_.done += whole * sizeof(float);
  return *moved > 0;
}

absl::Status TlsRing::AllReduce(float* data, size_t count) {
  if (size_ == 1) return absl::OkStatus();
  const std::vector<Hop> hops = PlanHops(count);
  sent_ = received_ = {};
  scratch_used_ = 0;
  while (sent_.hop < hops.size() || received_.hop < hops.size()) {
    const absl::StatusOr<bool> wrote =
        SendSome(hops, reinterpret_cast<const uint8_t*>(data));
    if (!wrote.ok()) return wrote.status();
    const absl::StatusOr<bool> read = ReceiveSome(hops, data);
    if (!read.ok()) return read.status();
    if (*wrote || *read || (sent_.hop == hops.size() && received_.hop == hops.size())) continue;
    pollfd polls[2] = {{next_->fd(), next_->wanted(), 0}, {previous_->fd(), previous_->wanted(), 0}};
    if ((polls[0].events | polls[1].events) != 0) poll(polls, 2, -1);
  }
  return absl::OkStatus();
}

}  // namespace caravan::bench
