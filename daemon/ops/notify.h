// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_OPS_NOTIFY_H_
#define CARAVAN_DAEMON_OPS_NOTIFY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace caravan::ops {

// Tells the service manager ("READY=1", "STOPPING=1"; sd_notify(3)) by a datagram to `socket`,
// the value of $NOTIFY_SOCKET: a path, or a name of the abstract namespace that begins with '@'.
// Empty: nobody wants to know.
absl::Status Notify(absl::string_view socket, absl::string_view state);

}  // namespace caravan::ops

#endif  // CARAVAN_DAEMON_OPS_NOTIFY_H_
