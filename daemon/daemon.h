// SPDX-License-Identifier: Apache-2.0
//
// caravand as a function, so that the bench can link one with other ciphers.
#ifndef CARAVAN_DAEMON_DAEMON_H_
#define CARAVAN_DAEMON_DAEMON_H_

#include "crypto/record.h"

namespace caravan {

// Runs until SIGTERM or SIGINT. Returns the exit code: 0 ok, 1 internal, 2 usage or
// configuration, 6 permission. Call it from main(), before any thread is started.
int RunDaemon(int argc, char** argv, crypto::RecordCipherFactory& ciphers);

}  // namespace caravan

#endif  // CARAVAN_DAEMON_DAEMON_H_
