// SPDX-License-Identifier: Apache-2.0
//
// The active half of putting an epoch together: for every member of a higher rank, a session, a
// confirmation over it, and the lanes. The passive half is Membership's.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_ASSEMBLY_H_
#define CARAVAN_DAEMON_MEMBERSHIP_ASSEMBLY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/peer.h"
#include "daemon/session/session.h"
#include "daemon/transport/data_connection.h"

namespace caravan::membership {

using PeerOf = std::function<std::shared_ptr<PeerClient>(const session::Session&)>;
using DialLane = std::function<absl::StatusOr<transport::DataConnection>(
    const std::string& address, const session::Session& session, const crypto::EpochId& epoch,
    uint16_t lane, absl::Time deadline)>;

struct AssemblyTools {
  session::SessionManager* sessions = nullptr;
  PeerOf peer;  // calls over an open session; null when it is closed or not bridged yet
  DialLane dial;
};

// What went wrong, and at which member.
struct AssemblyFault {
  absl::Status status;
  uint16_t peer = 0;
};

// Confirms with all members of a higher rank, several at a time, and dials their lanes. Then waits
// for what the lower ranks do. Blocks until `deadline` at most, or the epoch's end.
AssemblyFault Assemble(Membership& membership, const AssemblyTools& tools, absl::Time deadline);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_ASSEMBLY_H_
