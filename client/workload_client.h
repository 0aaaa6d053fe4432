// SPDX-License-Identifier: Apache-2.0
//
// The application's end of workload.sock: the calls of proto/caravan/v1/workload.proto.
#ifndef CARAVAN_CLIENT_WORKLOAD_CLIENT_H_
#define CARAVAN_CLIENT_WORKLOAD_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "caravan/caravan.h"

namespace caravan::client {

// The communicator whose members make a new one, and their ranks there in the order of the new
// ones. Handle 0: none.
struct Lineage {
  uint64_t parent = 0;
  std::vector<uint32_t> members;
};

// Thread-safe. Every call is bounded by the time-out. Errors: the daemon's own; Unavailable when
// it is gone; DeadlineExceeded when it does not answer.
class WorkloadClient {
 public:
  // The connection is made once and never again: the token does not outlive it.
  static absl::StatusOr<std::unique_ptr<WorkloadClient>> Connect(const std::string& path,
                                                                 std::string token,
                                                                 absl::Duration timeout);
  virtual ~WorkloadClient() = default;

  virtual absl::StatusOr<uint32_t> AllocateBuffer(uint64_t size) = 0;
  virtual absl::Status FreeBuffer(uint32_t id) = 0;
  // Bounded by options.create_timeout. Returns the handle.
  virtual absl::StatusOr<uint64_t> CreateCommunicator(const Rendezvous& rendezvous, int rank,
                                                      int size, const CommunicatorOptions& options,
                                                      const Lineage& lineage = {}) = 0;
  virtual absl::Status DestroyCommunicator(uint64_t handle) = 0;
  virtual absl::Status AbortCommunicator(uint64_t handle, const std::string& reason) = 0;
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_WORKLOAD_CLIENT_H_
