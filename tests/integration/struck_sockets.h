// SPDX-License-Identifier: Apache-2.0
//
// For tests: sockets that misbehave. Whatever links this has its recv, sendmsg and close go through
// here; they are the kernel's own until a thread asks for something else.
#ifndef CARAVAN_TESTS_INTEGRATION_STRUCK_SOCKETS_H_
#define CARAVAN_TESTS_INTEGRATION_STRUCK_SOCKETS_H_

#include <cstdint>

namespace caravan::testing {

enum class SocketFault : uint8_t {
  kReset,     // RST now
  kSlow,      // calls take milliseconds, for a while
  kDeaf,      // recv has nothing (EAGAIN)
  kFull,      // sendmsg takes nothing (EAGAIN)
  kNoMemory,  // the next call fails with ENOMEM
};

// On every socket that this thread has received from or sent to, until it closes it.
void FailSockets(SocketFault fault);

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_STRUCK_SOCKETS_H_
