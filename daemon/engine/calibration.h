// SPDX-License-Identifier: Apache-2.0
//
// Measures in a few milliseconds what this machine takes for what collectives are made of, so that
// algorithms can be told apart by time (collective/cost/cost.h).
#ifndef CARAVAN_DAEMON_ENGINE_CALIBRATION_H_
#define CARAVAN_DAEMON_ENGINE_CALIBRATION_H_

#include <map>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/cost/cost.h"
#include "crypto/aead.h"
#include "crypto/record.h"

namespace caravan::engine {

struct Calibration {
  // By suite. Of a machine by itself: the latency is that of loopback TCP, the link's rate is the
  // default, ranks_per_node is 1.
  std::map<crypto::Suite, collective::Rates> rates;
  absl::Duration took = absl::ZeroDuration();

  // The suite's, or the defaults where it was not measured.
  collective::Rates For(crypto::Suite suite) const;
};

// Seals and opens records under a random key, reduces, copies, and sends over a loopback TCP
// connection of its own, with another thread at its far end for the latency. Each figure is the
// best of several tries: what disturbs a try makes it longer. Blocks for 5 ms or so.
// ResourceExhausted, Unavailable: no sockets, no loopback; the ciphers' errors.
absl::StatusOr<Calibration> Calibrate(crypto::RecordCipherFactory& ciphers);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_CALIBRATION_H_
