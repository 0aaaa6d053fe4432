// SPDX-License-Identifier: Apache-2.0
//
// What a daemon counted for one communicator, asked over its admin socket.
#ifndef CARAVAN_BENCH_DAEMON_COUNTERS_H_
#define CARAVAN_BENCH_DAEMON_COUNTERS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/harness/runner.h"
#include "collective/cost/selector.h"

namespace caravan::bench {

class DaemonCounters {
 public:
  // Does not block; the calls below do.
  static std::unique_ptr<DaemonCounters> Connect(const std::string& runtime_dir,
                                                 const std::string& communicator);
  virtual ~DaemonCounters() = default;
  // Unavailable when the daemon does not answer, NotFound when it has no such communicator.
  virtual absl::StatusOr<CryptoBytes> Read() = 0;
  virtual absl::StatusOr<std::string> Suite() = 0;  // "AES_256_GCM/ipsec-mb"
  // By which the communicator's ranks choose.
  virtual absl::StatusOr<collective::SelectorTable> Table() = 0;
};

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_DAEMON_COUNTERS_H_
