// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_MEMBERSHIP_EPOCH_TABLE_H_
#define CARAVAN_DAEMON_MEMBERSHIP_EPOCH_TABLE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/membership/membership.h"

namespace caravan::membership {

// The epochs that this node is a member of, and the latest that have ended: those still answer
// with their reason. Thread-safe.
class EpochTable {
 public:
  // How many ended epochs are remembered.
  static constexpr size_t kRemembered = 256;

  // AlreadyExists: an epoch id never repeats. FailedPrecondition: this root has had a communicator
  // of this name confirmed in this generation, or a later one.
  absl::Status Add(std::shared_ptr<Membership> membership);
  // Null if unknown.
  std::shared_ptr<Membership> Find(const crypto::EpochId& epoch) const;
  // Waits until the epoch is there: a peer may hear of it first. Null at the deadline or when
  // `cancelled`.
  std::shared_ptr<Membership> WaitFor(const crypto::EpochId& epoch, absl::Time deadline,
                                      const std::function<bool()>& cancelled) const;
  // Moves it to the remembered ones.
  void Retire(const crypto::EpochId& epoch);
  std::vector<std::shared_ptr<Membership>> Live() const;

 private:
  struct Generation {
    crypto::Sha256Digest root{};
    std::string communicator;
    auto operator<=>(const Generation&) const = default;
  };

  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  std::map<crypto::EpochId, std::shared_ptr<Membership>> live_;
  std::map<crypto::EpochId, std::shared_ptr<Membership>> ended_;
  std::deque<crypto::EpochId> ended_order_;
  std::map<Generation, uint64_t> generations_;
  std::deque<Generation> generation_order_;
};

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_EPOCH_TABLE_H_
