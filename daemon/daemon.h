// SPDX-License-Identifier: Apache-2.0
//
// caravand as a function, so that the bench can link one with other ciphers, and the tests one that
// strikes at a step.
#ifndef CARAVAN_DAEMON_DAEMON_H_
#define CARAVAN_DAEMON_DAEMON_H_

#include "crypto/record.h"
#include "daemon/engine/engine.h"

namespace caravan {

// What a main() chooses. Neither flag, nor file, nor environment reaches these.
struct DaemonParts {
  crypto::RecordCipherFactory& ciphers;  // outlives the daemon
  engine::StepHook step_hook = nullptr;  // the release's main() gives none
};

// Runs until SIGTERM or SIGINT. Returns the exit code: 0 ok, 1 internal, 2 usage or
// configuration, 6 permission. Call it from main(), before any thread is started.
int RunDaemon(int argc, char** argv, DaemonParts parts);

}  // namespace caravan

#endif  // CARAVAN_DAEMON_DAEMON_H_
