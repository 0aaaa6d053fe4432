// SPDX-License-Identifier: Apache-2.0
//
// The ranks of one communicator that share this node, on their way into it: they wait for one
// another, then one of them makes it for all.
#ifndef CARAVAN_DAEMON_SERVICE_LOCAL_PARTY_H_
#define CARAVAN_DAEMON_SERVICE_LOCAL_PARTY_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/membership/cancellation.h"

namespace caravan::service {

// One rank that waits.
struct LocalSeat {
  membership::Cancellation cancellation;  // set when the application ends
};

// Thread-safe.
class LocalParties {
 public:
  struct Guest {
    std::string party;  // what they all want: the communicator and the node's place in it
    std::string terms;  // what they have to agree on, for people too
    uint32_t first_rank = 0;
    uint32_t ranks = 1;  // that the party has
    uint32_t rank = 0;
    std::shared_ptr<LocalSeat> seat;
  };
  // Makes it for all seats, in the order of ranks.
  using Make = std::function<absl::StatusOr<std::string>(
      const std::vector<std::shared_ptr<LocalSeat>>& seats)>;

  // Blocks until all ranks of the party are there and one of them has called `make`; all get its
  // result. InvalidArgument: two contradict each other, or claim one rank: the party ends for all.
  // DeadlineExceeded names who is missing; a seat's cancellation ends the party with its reason.
  absl::StatusOr<std::string> Join(const Guest& guest, absl::Time deadline, const Make& make);

 private:
  struct Party {
    std::vector<std::shared_ptr<LocalSeat>> seats;
    std::string terms;
    uint32_t first_rank = 0;
    uint32_t present = 0;
    bool done = false;
    absl::StatusOr<std::string> result = absl::UnknownError("not made yet");
  };
  static std::string Missing(const Party& party);
  void Finish(const std::string& name, Party& party, absl::StatusOr<std::string> result);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Party>> open_;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_LOCAL_PARTY_H_
