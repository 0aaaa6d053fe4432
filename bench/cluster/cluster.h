// SPDX-License-Identifier: Apache-2.0
//
// Nodes of one machine for a benchmark: a fresh insecure root, a policy, a daemon a rank on
// loopback, all in one temporary folder that goes away with the object.
#ifndef CARAVAN_BENCH_CLUSTER_CLUSTER_H_
#define CARAVAN_BENCH_CLUSTER_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::bench {

class Cluster {
 public:
  // Starts `size` daemons of the executable `daemon` and waits until all are ready. DeadlineExceeded
  // or Internal, with the end of the daemon's log, when one is not.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(const std::string& daemon, int size,
                                                        absl::Duration timeout = absl::Seconds(30));
  ~Cluster();

  std::string runtime_dir(int node) const;
  const std::string& control_address(int node) const { return addresses_[node]; }

 private:
  Cluster() = default;
  absl::Status WriteSharedFiles();
  absl::Status StartDaemon(const std::string& daemon, int node);
  absl::Status WaitUntilReady(int node, absl::Time deadline);
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string NodePath(int node, const std::string& name) const;

  std::string folder_;
  std::vector<pid_t> daemons_;
  std::vector<std::string> addresses_;
};

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_CLUSTER_CLUSTER_H_
