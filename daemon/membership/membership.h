// SPDX-License-Identifier: Apache-2.0
//
// This node's part of one epoch, from the roster to its end: which pairs have confirmed, which
// lanes have come, the keys for the engine, and the one reason for which it ended.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_MEMBERSHIP_H_
#define CARAVAN_DAEMON_MEMBERSHIP_MEMBERSHIP_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "daemon/engine/engine.h"
#include "daemon/membership/cancellation.h"
#include "daemon/session/session.h"
#include "daemon/transport/data_connection.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

// Thread-safe.
class Membership {
 public:
  // `roster` has passed CheckRosterFor; `secret` is its epoch_secret.
  Membership(v1::Roster roster, uint16_t rank, const crypto::EpochId& epoch,
             crypto::SecretBytes secret);

  const v1::Roster& roster() const { return roster_; }
  const crypto::EpochId& epoch() const { return epoch_; }
  uint16_t rank() const { return rank_; }
  uint16_t size() const { return static_cast<uint16_t>(roster_.members_size()); }
  std::string Name(uint16_t rank) const;  // "rank 1 (node-b)"
  // The rank of a node, or nothing when it is no member.
  std::optional<uint16_t> RankOf(const crypto::Sha256Digest& spki) const;
  // Ends with the epoch: what waits for this epoch hooks here.
  Cancellation& cancellation() { return cancellation_; }

  // The MAC by which this rank confirms the epoch to `peer`. FailedPrecondition once it ended.
  absl::StatusOr<std::string> OwnMac(uint16_t peer) const;
  // Takes the peer's MAC: from now on `session` is the pair's. PermissionDenied: the session is
  // not with that member, is not the one that the roster names, or the MAC does not verify.
  // AlreadyExists: the pair has confirmed. After the end: its reason.
  absl::Status ConfirmPair(std::shared_ptr<session::Session> session, uint16_t peer,
                           absl::string_view mac);
  // Whether a member of a lower rank, which is the one that dials, has confirmed over this session
  // and still owes a lane. False after the end.
  bool ExpectsLane(const crypto::SessionId& session) const;
  // Takes a lane of a confirmed pair. Refused ones are closed: of another session, of a number
  // out of range, or there already.
  absl::Status AddLane(transport::DataConnection lane);
  // Blocks until every pair has confirmed and has its lanes. DeadlineExceeded names what is
  // missing; the reason of the end when it ends first.
  absl::Status WaitAssembled(absl::Time deadline);
  // Keys and lanes for the engine; the epoch secret is wiped, the sessions are let go. Once, after
  // WaitAssembled.
  absl::Status FillGroup(engine::GroupConfig* group);

  // Ends the epoch here: the first report decides, and is returned to all. Wipes what is left of
  // the secret, closes lanes that the engine has not taken, lets the sessions go. `first`: whether
  // this one decided.
  v1::FaultReport Decide(const v1::FaultReport& report, bool* first);
  std::optional<v1::FaultReport> decided() const;

 private:
  struct Pair {
    std::shared_ptr<session::Session> session;
    std::vector<transport::DataConnection> lanes;
    uint32_t lanes_here = 0;
  };
  absl::Status EndedLocked() const;
  std::string MissingLocked() const;

  const v1::Roster roster_;
  const crypto::EpochId epoch_;
  const uint16_t rank_;
  Cancellation cancellation_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  crypto::SecretBytes secret_;
  std::vector<Pair> pairs_;  // by rank
  std::optional<v1::FaultReport> decided_;
};

// A report as the status that applications see, and the other way round.
absl::Status ToStatus(const v1::FaultReport& report);
v1::FaultReport MakeReport(const absl::Status& status, uint16_t rank, uint16_t peer);
// At most `limit` bytes of UTF-8 text, then "…" where it was longer. No character is cut in two: a
// message with half a one could not be read by the other ranks.
std::string Shortened(absl::string_view text, size_t limit);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_MEMBERSHIP_H_
