// SPDX-License-Identifier: Apache-2.0
//
// The root's side of making a communicator: ranks join by name, and all of them get the same
// roster and epoch secret, or the same error.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_RENDEZVOUS_H_
#define CARAVAN_DAEMON_MEMBERSHIP_RENDEZVOUS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "crypto/secret_bytes.h"
#include "daemon/membership/gathering.h"

namespace caravan::membership {

// A complete communicator, as the root hands it out.
struct Gathered {
  v1::Roster roster;
  crypto::EpochId epoch{};
  crypto::SecretBytes secret;  // epoch_secret[48]
};

// Thread-safe.
class Rendezvous {
 public:
  // What the root chooses for all: see ChooseForAll. Must not block.
  using Choose = std::function<void(v1::Roster*)>;
  // At most `max_open` communicators may be gathering at a time.
  Rendezvous(size_t max_open, Choose choose) : max_open_(max_open), choose_(std::move(choose)) {}

  // Adds the joiner and blocks until all ranks are there. The first thing that goes wrong (a
  // contradiction, a deadline, a joiner that leaves) ends the gathering for all who wait, with
  // one reason. `cancelled` is polled. InvalidArgument: malformed, or a contradiction.
  // DeadlineExceeded: names who is missing. Aborted: a rank left. ResourceExhausted.
  absl::StatusOr<std::shared_ptr<const Gathered>> Join(Joiner joiner, absl::Time deadline,
                                                       const std::function<bool()>& cancelled);

  // Whether rank 0 has joined the gathering of this name and it is not complete.
  bool HasRoot(const std::string& communicator);

  // Ends everything that gathers, now and later, with `reason`.
  void Stop(absl::Status reason);

 private:
  struct Open {
    Gathering gathering;
    absl::Status failure;
    std::shared_ptr<const Gathered> result;
    bool done() const { return !failure.ok() || result != nullptr; }
  };
  void Finish(const std::string& name, Open& open, absl::Status failure);
  void Complete(const std::string& name, Open& open);

  const size_t max_open_;
  const Choose choose_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Open>> open_;
  uint64_t next_ticket_ = 1;
  uint64_t next_generation_ = 1;
  absl::Status stopped_;
};

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_RENDEZVOUS_H_
