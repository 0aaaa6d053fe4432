// SPDX-License-Identifier: Apache-2.0
//
// The ranks of one communicator on their way to a roster: who has joined, whether they agree, and
// the roster once they are complete. Pure.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_GATHERING_H_
#define CARAVAN_DAEMON_MEMBERSHIP_GATHERING_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "crypto/hash.h"
#include "crypto/key_tree.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

// One rank as it asked to join.
struct Joiner {
  v1::JoinRequest request;
  crypto::Sha256Digest spki{};
  crypto::SessionId root_session{};  // zero for the root itself
};

// Bounds of a request from outside. InvalidArgument names the field.
absl::Status CheckJoin(const v1::JoinRequest& request);

class Gathering {
 public:
  // Takes a joiner that passed CheckJoin; `ticket` tells it from a later one of the same rank and
  // node, which takes its place. InvalidArgument when it contradicts those who are there: names
  // both sides ("rank 1 (node-b) asked for 4 ranks, rank 0 (node-a) for 2"). The gathering cannot
  // succeed after that.
  absl::Status Add(Joiner joiner, uint64_t ticket);
  bool complete() const { return !members_.empty() && members_.size() == size(); }
  bool Holds(uint32_t rank, uint64_t ticket) const;
  bool HasRank(uint32_t rank) const { return members_.count(rank) > 0; }
  uint32_t size() const;
  // "ranks 2, 3 have not joined"
  std::string Missing() const;

  // Without a selector table, and with 0 lanes where nobody asked for a number: the root chooses
  // them. InvalidArgument when the ranks share no suite. Precondition: complete().
  absl::StatusOr<v1::Roster> MakeRoster(uint64_t generation) const;

 private:
  struct Entry {
    Joiner joiner;
    uint64_t ticket = 0;
  };
  absl::StatusOr<uint32_t> ChooseSuite() const;
  std::map<uint32_t, Entry> members_;  // by rank
};

// "rank 1 (node-b)"
std::string JoinerName(const v1::JoinRequest& request);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_GATHERING_H_
