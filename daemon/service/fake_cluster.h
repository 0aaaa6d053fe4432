// SPDX-License-Identifier: Apache-2.0
//
// For tests: nodes in one process. Sessions are shared secrets, calls between managers are plain
// calls, lanes are socket pairs, the engine writes down what it is told.
#ifndef CARAVAN_DAEMON_SERVICE_FAKE_CLUSTER_H_
#define CARAVAN_DAEMON_SERVICE_FAKE_CLUSTER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/service/communicator_manager.h"

namespace caravan::service {

class FakeSession : public session::Session {
 public:
  FakeSession(crypto::SessionId id, crypto::Role role, crypto::Sha256Digest local,
              crypto::Sha256Digest peer, crypto::SecretBytes secret)
      : id_(id), role_(role), local_(local), peer_(peer), secret_(std::move(secret)) {}
  const crypto::SessionId& id() const override { return id_; }
  crypto::Role role() const override { return role_; }
  const crypto::Sha256Digest& local_spki() const override { return local_; }
  const crypto::Sha256Digest& peer_spki() const override { return peer_; }
  const std::string& peer_address() const override { return address_; }
  absl::Time established() const override { return absl::UnixEpoch(); }
  absl::Time last_attested() const override { return absl::UnixEpoch(); }
  uint32_t round() const override { return 0; }
  attestation::Appraisal peer_appraisal() const override { return {}; }
  const std::string& peer_offer() const override { return offer_; }
  const crypto::SecretBytes& secret() const override { return secret_; }
  int TakeIncomingStream() override { return std::exchange(incoming, -1); }
  int TakeOutgoingStream() override { return std::exchange(outgoing, -1); }
  absl::Status status() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return status_;
  }
  void Close(absl::Status reason) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = std::move(reason);
  }

  bool draining() const override { return drains; }

  std::atomic<bool> drains{false};
  int incoming = -1;
  int outgoing = -1;

 private:
  const crypto::SessionId id_;
  const crypto::Role role_;
  const crypto::Sha256Digest local_, peer_;
  const std::string address_ = "10.0.0.9:1", offer_;
  const crypto::SecretBytes secret_;
  mutable std::mutex mutex_;
  absl::Status status_;
};

class FakeEngine : public engine::Engine {
 public:
  ~FakeEngine() override {
    for (auto& [epoch, group] : groups_) Close(group);
  }

  absl::Status AddGroup(engine::GroupConfig config) override {
    std::lock_guard<std::mutex> lock(mutex_);
    crypto::EpochId epoch = config.epoch;
    groups_[epoch] = std::move(config);
    return absl::OkStatus();
  }
  void Fail(const crypto::EpochId& epoch, const absl::Status& reason) override {
    std::lock_guard<std::mutex> lock(mutex_);
    failures_.emplace(epoch, reason);
  }
  void Remove(const crypto::EpochId& epoch) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto group = groups_.find(epoch);
    if (group == groups_.end()) return;
    Close(group->second);
    groups_.erase(group);
  }
  std::vector<engine::GroupStatus> List() override { return {}; }
  absl::StatusOr<std::string> DescribeOperation(const crypto::EpochId&, uint64_t) override {
    return description;
  }
  absl::StatusOr<engine::Wait> DescribeWait(const crypto::EpochId&) override { return wait; }
  void Stop() override {}

  // The only group's configuration, valid while it stands.
  engine::GroupConfig* group() {
    std::lock_guard<std::mutex> lock(mutex_);
    return groups_.empty() ? nullptr : &groups_.begin()->second;
  }
  // Waits for the first failure of any group.
  absl::Status Failure(absl::Duration timeout = absl::Seconds(10)) {
    for (absl::Time end = absl::Now() + timeout; absl::Now() < end;
         absl::SleepFor(absl::Milliseconds(5))) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failures_.empty()) return failures_.begin()->second;
    }
    return absl::OkStatus();
  }

  std::string description = "barrier()";
  absl::StatusOr<engine::Wait> wait = engine::Wait();

 private:
  // A group's descriptors are its engine's.
  static void Close(const engine::GroupConfig& group) {
    for (const engine::LocalRank& local : group.local) close(local.wake_fd);
    for (const engine::Peer& peer : group.peers) {
      for (const transport::DataConnection& lane : peer.lanes) close(lane.fd);
    }
  }

  std::mutex mutex_;
  std::map<crypto::EpochId, engine::GroupConfig> groups_;
  std::map<crypto::EpochId, absl::Status> failures_;
};

class FakeCluster {
 public:
  class Sessions;
  class Client;

  struct FakeNode {
    crypto::Sha256Digest spki{};
    std::string address;
    std::unique_ptr<Sessions> sessions;
    std::unique_ptr<FakeEngine> engine = std::make_unique<FakeEngine>();
    std::unique_ptr<CommunicatorManager> manager;
    local::Applications applications{8, 1 << 20};
    std::shared_ptr<local::Application> application;
    std::atomic<bool> silent{false};  // takes calls and never answers
    std::atomic<bool> dead{false};    // calls fail at once
    std::atomic<int> lost{0};         // so many calls find their session closed
  };

  class Sessions : public session::SessionManager {
   public:
    Sessions(FakeCluster* cluster, FakeNode* node) : cluster_(cluster), node_(node) {}
    absl::Status SetCredentials(std::shared_ptr<const session::Credentials>) override {
      return absl::OkStatus();
    }
    std::shared_ptr<const session::Credentials> credentials() const override { return nullptr; }
    int port() const override { return 1; }
    const crypto::Sha256Digest& local_spki() const override { return node_->spki; }
    absl::StatusOr<std::shared_ptr<session::Session>> Connect(const std::string& address,
                                                              absl::Time) override {
      FakeNode* other = cluster_->At(address);
      if (other == nullptr) return absl::UnavailableError("nobody listens there");
      if (auto open = FindPeer(other->spki)) return open;
      cluster_->Link(*node_, *other);
      return FindPeer(other->spki);
    }
    std::shared_ptr<session::Session> Find(const crypto::SessionId& id) const override {
      return First([&](const FakeSession& s) { return s.id() == id; });
    }
    std::shared_ptr<session::Session> FindPeer(const crypto::Sha256Digest& spki) const override {
      return First([&](const FakeSession& s) { return s.peer_spki() == spki && !s.drains; });
    }
    std::vector<std::shared_ptr<session::Session>> List() const override { return {}; }
    void Stop() override {}
    std::shared_ptr<FakeSession> With(const FakeNode& peer) const {
      return std::static_pointer_cast<FakeSession>(FindPeer(peer.spki));
    }
    void Add(std::shared_ptr<FakeSession> session) {
      std::lock_guard<std::mutex> lock(mutex_);
      all_.push_back(std::move(session));
    }

   private:
    std::shared_ptr<session::Session> First(
        const std::function<bool(const FakeSession&)>& fits) const {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& session : all_) {
        if (session->status().ok() && fits(*session)) return session;
      }
      return nullptr;
    }
    FakeCluster* cluster_;
    FakeNode* node_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<FakeSession>> all_;
  };

  // Calls `target` as the session that it has with the caller.
  class Client : public membership::PeerClient {
   public:
    Client(FakeNode* target, crypto::SessionId id) : target_(target), id_(id) {}
    absl::Status Join(const v1::JoinRequest& request, v1::JoinReply* reply, absl::Time deadline,
                      membership::Cancellation* cancellation) override {
      return Call(deadline, cancellation, [&](const membership::Caller& c) {
        return target_->manager->Join(c, request, reply);
      });
    }
    absl::Status Confirm(const v1::ConfirmRequest& request, v1::ConfirmReply* reply,
                         absl::Time deadline, membership::Cancellation* cancellation) override {
      return Call(deadline, cancellation, [&](const membership::Caller& c) {
        return target_->manager->Confirm(c, request, reply);
      });
    }
    absl::Status ReportFault(const v1::ReportFaultRequest& request, v1::ReportFaultReply* reply,
                             absl::Time deadline) override {
      return Call(deadline, nullptr, [&](const membership::Caller& c) {
        return target_->manager->ReportFault(c, request, reply);
      });
    }
    absl::Status EndEpoch(const v1::EndEpochRequest& request, absl::Time deadline) override {
      return Call(deadline, nullptr, [&](const membership::Caller& c) {
        return target_->manager->EndEpoch(c, request);
      });
    }
    absl::Status DescribeOperation(const v1::DescribeOperationRequest& request,
                                   v1::DescribeOperationReply* reply,
                                   absl::Time deadline) override {
      return Call(deadline, nullptr, [&](const membership::Caller& c) {
        return target_->manager->DescribeOperation(c, request, reply);
      });
    }
    absl::Status DescribeWait(const v1::DescribeWaitRequest& request, v1::DescribeWaitReply* reply,
                              absl::Time deadline) override {
      return Call(deadline, nullptr, [&](const membership::Caller& c) {
        return target_->manager->DescribeWait(c, request, reply);
      });
    }

   private:
    absl::Status Call(absl::Time deadline, membership::Cancellation* cancellation,
                      const std::function<absl::Status(const membership::Caller&)>& call) {
      if (target_->dead) return absl::UnavailableError("connection reset");
      if (target_->lost.fetch_sub(1) > 0) return absl::UnavailableError("the session has closed");
      if (target_->silent) {
        absl::SleepFor(deadline - absl::Now());
        return absl::DeadlineExceededError("no answer");
      }
      membership::Caller caller{target_->sessions->Find(id_), deadline, [cancellation] {
                                  return cancellation != nullptr && !cancellation->status().ok();
                                }};
      if (caller.session == nullptr) return absl::UnavailableError("closed");
      return call(caller);
    }
    FakeNode* target_;
    crypto::SessionId id_;
  };

  // Up to how many bytes node i, as a root, has allreduce done by the ring.
  static uint64_t RingLimitOf(int i) { return 1000 + static_cast<uint64_t>(i); }

  explicit FakeCluster(int size, uint32_t max_communicators = 8) {
    for (int i = 0; i < size; ++i) {
      auto node = std::make_unique<FakeNode>();
      node->spki.fill(static_cast<uint8_t>(i + 1));
      node->address = absl::StrCat("10.0.0.", i + 1, ":7400");
      node->sessions = std::make_unique<Sessions>(this, node.get());
      CommunicatorManager::Options options;
      options.node = absl::StrCat("node-", std::string(1, static_cast<char>('a' + i)));
      options.control_address = node->address;
      options.data_address = node->address;
      options.max_communicators = max_communicators;
      options.engine = node->engine.get();
      options.arbitration_try = absl::Milliseconds(200);
      // Every node would choose otherwise, as a root.
      options.facts.choices = {{collective::Operation::kAllReduce, RingLimitOf(i),
                                collective::kMaxSelectorRanks, collective::Algorithm::kRing}};
      options.tools.sessions = node->sessions.get();
      options.tools.peer = [this](const session::Session& session) {
        return std::make_shared<Client>(Of(session.peer_spki()), session.id());
      };
      options.tools.dial = [this](const std::string& address, const session::Session& session,
                                  const crypto::EpochId& epoch, uint16_t lane,
                                  absl::Time) { return Dial(address, session, epoch, lane); };
      node->manager = std::make_unique<CommunicatorManager>(std::move(options));
      node->application = *node->applications.Add({100 + i, 0, 0});
      nodes_.push_back(std::move(node));
    }
  }
  ~FakeCluster() {
    for (auto& node : nodes_) node->manager->Stop();
  }
  FakeNode& operator[](int i) { return *nodes_[i]; }

  FakeNode* At(const std::string& address) {
    for (auto& node : nodes_) {
      if (node->address == address) return node.get();
    }
    return nullptr;
  }

  void Link(FakeNode& dialler, FakeNode& acceptor) {
    crypto::SessionId id{};
    id[0] = ++links_;
    auto secret = crypto::SecretBytes::Random(48);
    dialler.sessions->Add(std::make_shared<FakeSession>(id, crypto::Role::kInitiator, dialler.spki,
                                                        acceptor.spki, *secret->Clone()));
    acceptor.sessions->Add(std::make_shared<FakeSession>(
        id, crypto::Role::kResponder, acceptor.spki, dialler.spki, *std::move(secret)));
  }

 private:
  FakeNode* Of(const crypto::Sha256Digest& spki) { return nodes_[spki[0] - 1].get(); }

  absl::StatusOr<transport::DataConnection> Dial(const std::string& address,
                                                 const session::Session& session,
                                                 const crypto::EpochId& epoch, uint16_t lane) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return absl::UnavailableError("no sockets");
    }
    transport::DataConnection ours, theirs;
    ours.fd = ends[0];
    theirs.fd = ends[1];
    ours.session = theirs.session = session.id();
    ours.epoch = theirs.epoch = epoch;
    ours.lane = theirs.lane = lane;
    if (!At(address)->manager->ExpectsLane(session.id(), epoch)) {
      for (const int end : ends) close(end);
      return absl::UnavailableError("closed before the confirmation");
    }
    At(address)->manager->OnLane(std::move(theirs));
    return ours;
  }

  std::atomic<uint8_t> links_{0};
  std::vector<std::unique_ptr<FakeNode>> nodes_;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_FAKE_CLUSTER_H_
