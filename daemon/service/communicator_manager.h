// SPDX-License-Identifier: Apache-2.0
//
// Communicators, from an application's request to their end: join at the root, an epoch, a group
// of the engine. Also the node's side of what peers ask (peer.h). README.md has the flow.
#ifndef CARAVAN_DAEMON_SERVICE_COMMUNICATOR_MANAGER_H_
#define CARAVAN_DAEMON_SERVICE_COMMUNICATOR_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "daemon/engine/engine.h"
#include "daemon/local/applications.h"
#include "daemon/membership/assembly.h"
#include "daemon/membership/epoch.h"
#include "daemon/membership/epoch_table.h"
#include "daemon/membership/failure.h"
#include "daemon/membership/lineage.h"
#include "daemon/membership/peer.h"
#include "daemon/membership/rendezvous.h"
#include "daemon/membership/root_choice.h"
#include "daemon/service/local_party.h"
#include "daemon/service/root_finder.h"

namespace caravan::service {

struct CreateOptions {
  std::string name;
  std::string root_address;  // empty: the store knows it; rank 0 needs none without a store
  uint32_t rank = 0;
  uint32_t size = 1;
  uint32_t chunk_log2 = 17;
  uint32_t lanes = 0;           // 0: as the root chooses
  uint32_t ranks_per_node = 1;  // that share each node, with consecutive numbers
  std::string suite;            // empty: the root chooses
  // Not 0: the members are these ranks of that communicator of the application, which may have
  // failed; it gives name and root_address.
  uint64_t parent = 0;
  std::vector<uint32_t> members;
  absl::Duration deadline = absl::Seconds(30);
  absl::Duration timeout = absl::Seconds(60);
};

// Thread-safe.
class CommunicatorManager : public membership::PeerHandler {
 public:
  struct Options {
    std::string node;
    std::string control_address;  // as peers dial them
    std::string data_address;
    crypto::Sha256Digest policy_digest{};
    uint32_t max_communicators = 256;
    membership::AssemblyTools tools;   // its session manager outlives this object
    engine::Engine* engine = nullptr;  // likewise
    store::Store* store = nullptr;     // likewise; null: none
    absl::Duration arbitration_try = absl::Seconds(1);
    membership::RootFacts facts;  // what this node chooses by, where it is a root
  };
  explicit CommunicatorManager(Options options);
  ~CommunicatorManager() override;

  struct Created {
    uint64_t handle = 0;
    std::string suite;
  };
  // Blocks until the communicator stands, or fails: within options.timeout and the arbitration of
  // the reason after it. InvalidArgument names the field, or both sides of a contradiction;
  // NotFound: no such parent; PermissionDenied: a member is not the node that it was in the parent.
  absl::StatusOr<Created> Create(const std::shared_ptr<local::Application>& application,
                                 CreateOptions options);
  // NotFound: no such handle of this application.
  absl::Status Destroy(const local::Application& application, uint64_t handle);
  absl::Status Abort(const local::Application& application, uint64_t handle,
                     const std::string& reason);
  absl::StatusOr<std::shared_ptr<engine::SharedMemory>> Ring(const local::Application& application,
                                                             uint64_t handle) const;

  // The application is gone: its communicators end on all ranks, what it is making is given up.
  void EndApplication(const local::Application& application);
  // Epochs with the session's peer end, unless another session with it is open. Never blocks.
  void OnSessionClosed(const session::Session& session);
  // For the data listener, which turns all else away: see Membership::ExpectsLane.
  bool ExpectsLane(const crypto::SessionId& session, const crypto::EpochId& epoch) const;
  // A lane from the data listener.
  void OnLane(transport::DataConnection lane);
  // Ends all communicators, on all ranks as far as they answer. Idempotent.
  void Stop();

  absl::Status Join(const membership::Caller& caller, const v1::JoinRequest& request,
                    v1::JoinReply* reply) override;
  absl::Status Confirm(const membership::Caller& caller, const v1::ConfirmRequest& request,
                       v1::ConfirmReply* reply) override;
  absl::Status ReportFault(const membership::Caller& caller, const v1::ReportFaultRequest& request,
                           v1::ReportFaultReply* reply) override;
  absl::Status EndEpoch(const membership::Caller& caller,
                        const v1::EndEpochRequest& request) override;
  absl::Status DescribeOperation(const membership::Caller& caller,
                                 const v1::DescribeOperationRequest& request,
                                 v1::DescribeOperationReply* reply) override;
  absl::Status DescribeWait(const membership::Caller& caller,
                            const v1::DescribeWaitRequest& request,
                            v1::DescribeWaitReply* reply) override;

 private:
  struct Communicator : LocalSeat {
    uint64_t handle = 0;
    std::shared_ptr<local::Application> application;
    uint32_t rank = 0;
    std::string who;  // "rank 1 (node-b)"
    std::optional<membership::Lineage> lineage;
    // Guarded by the manager's mutex.
    std::shared_ptr<membership::Membership> membership;
    std::shared_ptr<engine::SharedMemory> ring;  // once it stands
    const std::shared_ptr<std::atomic<bool>> left = std::make_shared<std::atomic<bool>>(false);
  };
  struct Joined {
    v1::Roster roster;
    crypto::EpochId epoch{};
    crypto::SecretBytes secret;
    std::shared_ptr<session::Session> session;  // the roster names it: held until the group stands
  };
  // Completes `options` from their parent.
  absl::StatusOr<membership::Lineage> Trace(const local::Application& application,
                                            CreateOptions* options) const;
  absl::StatusOr<std::shared_ptr<Communicator>> Reserve(
      const std::shared_ptr<local::Application>& application, const CreateOptions& options);
  absl::StatusOr<Joined> JoinAtRoot(Communicator& communicator, const v1::JoinRequest& request,
                                    absl::Time deadline);
  absl::StatusOr<Joined> JoinRemote(Communicator& communicator, const v1::JoinRequest& request,
                                    const CreateOptions& options, const std::string& root_address,
                                    absl::Time deadline);
  // By whichever of the two it takes.
  absl::StatusOr<Joined> JoinAnywhere(Communicator& communicator, const v1::JoinRequest& request,
                                      const CreateOptions& options, absl::Time deadline);
  // What the node's own ranks make together; by itself where ranks share no node.
  using Seats = std::vector<std::shared_ptr<Communicator>>;
  absl::StatusOr<std::string> CreateTogether(const std::shared_ptr<Communicator>& communicator,
                                             const v1::JoinRequest& request,
                                             const CreateOptions& options, absl::Time deadline);
  // Joins and establishes for all `seats`, as `lead`. The suite.
  absl::StatusOr<std::string> CreateFor(Communicator& lead, const Seats& seats,
                                        const v1::JoinRequest& request,
                                        const CreateOptions& options, absl::Time deadline);
  absl::Status Establish(Communicator& lead, const Seats& seats, const CreateOptions& options,
                         Joined joined, absl::Time deadline);
  absl::Status StartGroup(const Seats& seats, membership::Membership& membership,
                          const CreateOptions& options);
  void Forget(uint64_t handle);
  // Whether other ranks of this node stand in the communicator; its handle is forgotten then.
  bool LeaveOthersBehind(Communicator& communicator);
  // Ends it on all ranks with `reason`, then here for good.
  void End(const std::shared_ptr<Communicator>& communicator, const absl::Status& reason);
  absl::StatusOr<std::shared_ptr<Communicator>> Find(const local::Application& application,
                                                     uint64_t handle) const;
  std::shared_ptr<membership::PeerClient> MemberClient(const membership::Membership& membership,
                                                       uint16_t rank, absl::Time deadline) const;

  const Options options_;
  const RootFinder finder_;
  membership::Rendezvous rendezvous_;
  LocalParties parties_;
  membership::EpochTable epochs_;
  base::WorkerPool workers_;
  membership::FailureArbiter arbiter_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Communicator>> communicators_;
  uint64_t next_handle_ = 1;
  bool stopped_ = false;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_COMMUNICATOR_MANAGER_H_
