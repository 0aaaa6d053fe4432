// SPDX-License-Identifier: Apache-2.0
//
// The few socket calls of the control port. All descriptors are non-blocking and close-on-exec.
#ifndef CARAVAN_DAEMON_SESSION_SOCKETS_H_
#define CARAVAN_DAEMON_SESSION_SOCKETS_H_

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::session {

using SteadyTime = std::chrono::steady_clock::time_point;

// Owns a descriptor; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Reset(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset();

 private:
  int fd_ = -1;
};

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// "10.0.0.1:7400", "[fd00::1]:7400", "node-a:7400". InvalidArgument, with the expected form.
absl::StatusOr<HostPort> ParseHostPort(const std::string& address);

// Listens; port 0 picks one, written to `port`. InvalidArgument or Unavailable.
absl::StatusOr<Descriptor> Listen(const std::string& address, int* port);

// Connects. Unavailable: nobody there. DeadlineExceeded. Cancelled once `cancel_fd` is readable.
absl::StatusOr<Descriptor> Dial(const std::string& address, SteadyTime deadline, int cancel_fd);

// Accepts one connection and says who is there; an unopened Descriptor when none waits.
// ResourceExhausted when descriptors have run out.
absl::StatusOr<Descriptor> AcceptOne(int listen_fd, std::string* peer, std::string* source);

// TCP_NODELAY, and a dead peer is noticed within about 20 seconds.
void TuneConnection(int fd);
// The shortest round trip that the kernel has seen on a TCP connection, zero where it tells none.
absl::Duration RoundTripOf(int fd);

// Milliseconds for poll(): until `deadline`, at most `most`, at least 0.
int PollTimeout(SteadyTime deadline, int most);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_SOCKETS_H_
