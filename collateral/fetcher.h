// SPDX-License-Identifier: Apache-2.0
//
// Fetches one item, patiently: what is worth another try is tried again after a growing, random
// while, or after as long as the service asks for, until the deadline.
#ifndef CARAVAN_COLLATERAL_FETCHER_H_
#define CARAVAN_COLLATERAL_FETCHER_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/collateral_source.h"
#include "collateral/services.h"

namespace caravan::collateral {

// Time, chance and the network, for tests to replace.
struct World {
  std::function<absl::Time()> now;
  std::function<void(absl::Duration)> sleep;
  std::function<double()> random;  // 0 to below 1
  std::function<absl::StatusOr<http::Reply>(const http::Request&, absl::Duration timeout)> send;

  static World Real();
};

struct Patience {
  int attempts = 6;                            // of one call
  absl::Duration attempt = absl::Seconds(15);  // longest wait for one answer
  absl::Duration first = absl::Seconds(1);     // before the second attempt; then twice that, …
  absl::Duration longest = absl::Seconds(30);
};

// Thread-safe.
class Fetcher {
 public:
  Fetcher(Services services, World world, Patience patience = {})
      : services_(std::move(services)), world_(std::move(world)), patience_(patience) {}

  // NotFound: the service knows of none. ResourceExhausted: it asks for more patience than there
  // is time, or the answer is too large. Unavailable, DeadlineExceeded. InvalidArgument: the answer
  // is malformed. The message names the address and the last answer.
  absl::StatusOr<attestation::CollateralItem> Fetch(const attestation::CollateralRequest& request,
                                                    absl::Time deadline);

  const World& world() const { return world_; }

 private:
  absl::StatusOr<http::Reply> Persist(const http::Request& request, absl::Time deadline);
  // Waits; false when that would pass the deadline.
  bool Wait(absl::Duration duration, absl::Time deadline) const;
  absl::Time HeldUntil(const std::string& host) const;

  const Services services_;
  const World world_;
  const Patience patience_;
  mutable std::mutex mutex_;
  std::map<std::string, absl::Time> held_until_;  // by host: it asked not to be asked before
};

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_FETCHER_H_
