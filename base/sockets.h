// SPDX-License-Identifier: Apache-2.0
//
// TCP sockets: listening, connecting, accepting, and moving a number of bytes by a deadline. All
// descriptors are non-blocking and close-on-exec.
#ifndef CARAVAN_BASE_SOCKETS_H_
#define CARAVAN_BASE_SOCKETS_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/socket_address.h"

namespace caravan::base {

// Called with a socket before it is bound or connected: sizes of buffers count only if set then.
using ConfigureSocket = absl::FunctionRef<void(int)>;

// Listens; port 0 picks one (LocalPort). InvalidArgument: the address does not parse. Unavailable:
// it does not resolve, or is taken. ResourceExhausted: no descriptors.
absl::StatusOr<Descriptor> Listen(const std::string& address, ConfigureSocket configure);

// Connects to the first address of the host that answers. InvalidArgument: the address does not
// parse. Unavailable: it does not resolve, or nobody is there. DeadlineExceeded. ResourceExhausted:
// no descriptors. Cancelled once `cancel_fd` is readable; -1: never.
absl::StatusOr<Descriptor> Connect(const std::string& address, SteadyTime deadline, int cancel_fd,
                                   ConfigureSocket configure);

struct Accepted {
  Descriptor socket;  // none where nobody waits
  HostPort from;
};
// The next connection of the backlog. ResourceExhausted when descriptors or memory have run out:
// the connection stays in the backlog, so do not spin on it.
absl::StatusOr<Accepted> Accept(int listener);

absl::StatusOr<int> LocalPort(int fd);

// Moves all of `bytes`, or fails: Unavailable at the end of the stream or on a reset,
// DeadlineExceeded.
absl::Status WriteAll(int fd, absl::Span<const uint8_t> bytes, SteadyTime deadline);
absl::Status ReadAll(int fd, absl::Span<uint8_t> bytes, SteadyTime deadline);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_SOCKETS_H_
