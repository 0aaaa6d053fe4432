// SPDX-License-Identifier: Apache-2.0
//
// What the control port asks of its TCP connections.
#ifndef CARAVAN_DAEMON_SESSION_TCP_H_
#define CARAVAN_DAEMON_SESSION_TCP_H_

#include "absl/time/time.h"

namespace caravan::session {

// TCP_NODELAY, and a dead peer is noticed within about 20 seconds.
void TuneConnection(int fd);

// The shortest round trip that the kernel has seen on a TCP connection, zero where it tells none.
absl::Duration RoundTripOf(int fd);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_TCP_H_
