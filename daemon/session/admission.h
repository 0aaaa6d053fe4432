// SPDX-License-Identifier: Apache-2.0
//
// What a stranger may cost this node: half-open handshakes, in all and from one address, and
// evidence made in a second. Pure: time comes in.
#ifndef CARAVAN_DAEMON_SESSION_ADMISSION_H_
#define CARAVAN_DAEMON_SESSION_ADMISSION_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace caravan::session {

// Counts half-open handshakes. Not thread-safe.
class HalfOpenGate {
 public:
  HalfOpenGate(int max_total, int max_per_source)
      : max_total_(max_total), max_per_source_(max_per_source) {}

  // ResourceExhausted, reason HALF_OPEN or HALF_OPEN_SOURCE; nothing is counted then.
  absl::Status Enter(const std::string& source);
  void Leave(const std::string& source);
  int total() const { return total_; }

 private:
  const int max_total_;
  const int max_per_source_;
  int total_ = 0;
  std::map<std::string, int> per_source_;
};

// A token bucket that holds up to one second's tokens (at least one). Not thread-safe.
class EvidenceBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit EvidenceBudget(double per_second);

  // Takes a token and says when it may be used, or takes nothing when that is after `latest`.
  std::optional<Time> Take(Time now, Time latest);

 private:
  const double per_second_;
  const double capacity_;
  double tokens_;  // negative: promised to those who wait
  std::optional<Time> updated_;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_ADMISSION_H_
