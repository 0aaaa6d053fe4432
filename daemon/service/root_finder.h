// SPDX-License-Identifier: Apache-2.0
//
// Where the root of a communicator is, by a store: its daemon writes its control address there
// while the communicator is being made, the others read it.
#ifndef CARAVAN_DAEMON_SERVICE_ROOT_FINDER_H_
#define CARAVAN_DAEMON_SERVICE_ROOT_FINDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/membership/cancellation.h"
#include "daemon/store/store.h"

namespace caravan::service {

// Thread-safe. Without a store every call is InvalidArgument and says how to name one.
class RootFinder {
 public:
  // `store` may be null and outlives this.
  explicit RootFinder(store::Store* store) : store_(store) {}

  // Tells the others where rank `rank` is, until the result is destroyed. Rank 0 waits until
  // nobody else is the root of a communicator of this name.
  absl::StatusOr<std::unique_ptr<store::Claim>> Enter(
      const std::string& communicator, uint32_t rank, const std::string& address,
      absl::Time deadline, const membership::Cancellation& cancellation) const;

  // Runs `join(address of the root)` until it is answered: Unavailable means that the root is gone,
  // and another may have taken its place. DeadlineExceeded names the last reason.
  template <typename Join>
  auto JoinRoot(const std::string& communicator, absl::Time deadline,
                const membership::Cancellation& cancellation, Join join) const
      -> decltype(join(std::string()));

  // "etcd at … knows rank 2 (10.0.0.3:7400)" of ranks 1 and up: for an error's end. Empty where it
  // cannot be asked within a second.
  std::string DescribeMembers(const std::string& communicator) const;

 private:
  // The root's address once there is one.
  absl::StatusOr<std::string> Find(const std::string& communicator, absl::Time deadline,
                                   const membership::Cancellation& cancellation,
                                   const absl::Status& last) const;
  // Before another look; false: the deadline is too near.
  static bool Pause(absl::Time deadline, const membership::Cancellation& cancellation);

  store::Store* const store_;
};

template <typename Join>
auto RootFinder::JoinRoot(const std::string& communicator, absl::Time deadline,
                          const membership::Cancellation& cancellation, Join join) const
    -> decltype(join(std::string())) {
  absl::Status last;
  for (;;) {
    absl::StatusOr<std::string> root = Find(communicator, deadline, cancellation, last);
    if (!root.ok()) return root.status();
    auto joined = join(*root);
    if (!absl::IsUnavailable(joined.status()) || !Pause(deadline, cancellation)) return joined;
    last = joined.status();
  }
}

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_ROOT_FINDER_H_
