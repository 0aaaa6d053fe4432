// SPDX-License-Identifier: Apache-2.0
//
// A running node: every part of the daemon, put together, started and stopped in order.
#ifndef CARAVAN_DAEMON_NODE_H_
#define CARAVAN_DAEMON_NODE_H_

#include <future>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "crypto/record.h"
#include "daemon/credentials.h"
#include "daemon/engine/engine.h"
#include "daemon/local/applications.h"
#include "daemon/local/memory_server.h"
#include "daemon/membership/root_choice.h"
#include "daemon/service/admin_service.h"
#include "daemon/service/communicator_manager.h"
#include "daemon/service/peer_bridge.h"
#include "daemon/service/refusals.h"
#include "daemon/service/workload_service.h"
#include "daemon/session/session.h"
#include "daemon/store/store.h"
#include "daemon/transport/data_connection.h"

namespace caravan {

class Node {
 public:
  // Binds everything that the configuration names. `ciphers` outlives the node. `step_hook`: see
  // engine.h; none but in tests.
  static absl::StatusOr<std::unique_ptr<Node>> Start(v1::Config config, NodeCredentials credentials,
                                                     crypto::RecordCipherFactory& ciphers,
                                                     engine::StepHook step_hook = nullptr);
  ~Node();  // Stop()

  // What peers dial, with the ports that were picked.
  const std::string& control_address() const { return control_address_; }
  const std::string& data_address() const { return data_address_; }
  session::SessionManager& sessions() { return *sessions_; }
  // Ends all communicators with a reason that the other ranks hear, closes all sockets and
  // sessions, wipes all keys. Idempotent.
  void Stop();

 private:
  Node(v1::Config config, NodeCredentials credentials);
  absl::Status MakeStore();
  absl::Status LearnRates();
  absl::Status StartNetwork(crypto::RecordCipherFactory& ciphers, engine::StepHook step_hook);
  absl::Status StartLocal();
  std::string SocketPath(absl::string_view name) const;
  std::vector<uid_t> WorkloadUids() const;
  // Callbacks may come before the parts they need are there: they wait for this gate.
  void WaitUntilBuilt() const { built_.wait(); }
  session::ManagerOptions SessionOptions();
  transport::DataListener::Options ListenerOptions();
  transport::SocketOptions DataSocketOptions() const;

  const v1::Config config_;
  NodeCredentials credentials_;  // what is shown to peers moves to the sessions
  std::string control_address_;
  std::string data_address_;
  absl::Time started_;
  std::promise<void> build_;
  std::shared_future<void> built_;
  bool gate_open_ = false;
  bool stopped_ = false;

  service::Refusals refusals_;
  local::Applications applications_;
  membership::RootFacts root_facts_;
  std::unique_ptr<store::Store> store_;  // null: the configuration names none
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<session::SessionManager> sessions_;
  std::unique_ptr<transport::DataListener> listener_;
  std::unique_ptr<service::CommunicatorManager> communicators_;
  std::unique_ptr<service::PeerBridge> bridge_;
  std::unique_ptr<local::MemoryServer> memory_;
  std::unique_ptr<service::WorkloadServer> workload_;
  std::unique_ptr<service::AdminServer> admin_;
};

}  // namespace caravan

#endif  // CARAVAN_DAEMON_NODE_H_
