// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/socket_address.h"
#include "base/version.h"
#include "config/selector_config.h"
#include "daemon/store/etcd_store.h"

namespace caravan {
namespace {

// The address that peers dial: the advertised one, else the bound one; port 0 is the one picked.
std::string Advertised(const std::string& bound, const std::string& advertised, int port) {
  // Both passed the configuration's checks.
  base::HostPort address = *base::ParseHostPort(advertised.empty() ? bound : advertised);
  if (address.port == 0) address.port = static_cast<uint16_t>(port);
  return address.ToString();
}

}  // namespace

Node::Node(v1::Config config, NodeCredentials credentials)
    : config_(std::move(config)),
      credentials_(std::move(credentials)),
      started_(absl::Now()),
      built_(build_.get_future()),
      applications_(config_.limits().max_applications(),
                    config_.limits().application_memory_bytes()) {}

Node::~Node() { Stop(); }

absl::StatusOr<std::unique_ptr<Node>> Node::Start(v1::Config config, NodeCredentials credentials,
                                                  crypto::RecordCipherFactory& ciphers,
                                                  engine::StepHook step_hook) {
  std::unique_ptr<Node> node(new Node(std::move(config), std::move(credentials)));
  absl::Status status = node->MakeStore();
  if (status.ok()) status = node->LearnRates();
  if (status.ok()) status = node->StartNetwork(ciphers, std::move(step_hook));
  if (status.ok()) status = node->StartLocal();
  if (!status.ok()) return status;
  return node;
}

std::string Node::SocketPath(absl::string_view name) const {
  return absl::StrCat(config_.runtime_dir(), "/", name);
}

std::vector<uid_t> Node::WorkloadUids() const {
  if (config_.allowed_uids().empty()) return {geteuid(), 0};
  return {config_.allowed_uids().begin(), config_.allowed_uids().end()};
}

transport::SocketOptions Node::DataSocketOptions() const {
  return {static_cast<int>(config_.limits().send_buffer_bytes()),
          static_cast<int>(config_.limits().receive_buffer_bytes())};
}

session::ManagerOptions Node::SessionOptions() {
  const v1::LimitsConfig& limits = config_.limits();
  session::ManagerOptions options;
  options.listen_address = config_.control_address();
  options.credentials.attester = std::move(credentials_.attester);
  options.credentials.appraiser = std::move(credentials_.appraiser);
  options.credentials.psk = std::move(credentials_.psk);
  options.handshake_timeout = absl::Milliseconds(limits.handshake_timeout_ms());
  options.reattest_every = absl::Seconds(limits.reattest_seconds());
  options.replace_every = absl::Seconds(limits.replace_session_seconds());
  options.max_half_open = static_cast<int>(limits.max_half_open());
  options.max_half_open_per_source = static_cast<int>(limits.max_half_open_per_source());
  options.on_established = [this](std::shared_ptr<session::Session> session) {
    WaitUntilBuilt();
    if (bridge_ == nullptr) return session->Close(absl::UnavailableError("the daemon stops"));
    bridge_->Add(session);
    base::Log(base::Level::kInfo, "session established",
              {{"id", membership::ShortHex(session->id())},
               {"peer", session->peer_address()},
               {"platform", session->peer_appraisal().platform}});
  };
  options.on_closed = [this](std::shared_ptr<session::Session> session) {
    WaitUntilBuilt();
    base::Log(base::Level::kInfo, "session closed",
              {{"id", membership::ShortHex(session->id())},
               {"peer", session->peer_address()},
               {"reason", session->status().message()}});
    if (bridge_ != nullptr) bridge_->Remove(*session);
    if (communicators_ != nullptr) communicators_->OnSessionClosed(*session);
  };
  options.on_refused = [this](const std::string& address, const absl::Status& reason) {
    refusals_.Add({absl::Now(), address, std::string(reason.message())});
    base::Log(base::Level::kWarning, "handshake refused",
              {{"peer", address}, {"reason", reason.message()}});
  };
  return options;
}

transport::DataListener::Options Node::ListenerOptions() {
  transport::DataListener::Options options;
  options.listen_address = config_.data_address();
  options.socket = DataSocketOptions();
  options.find_secret = [this](const crypto::SessionId& id) {
    WaitUntilBuilt();
    std::shared_ptr<session::Session> session = sessions_->Find(id);
    if (session == nullptr) return crypto::SecretBytes();
    auto secret = session->secret().Clone();
    return secret.ok() ? *std::move(secret) : crypto::SecretBytes();
  };
  options.knows_epoch = [this](const crypto::SessionId& session, const crypto::EpochId& epoch) {
    WaitUntilBuilt();
    return communicators_ != nullptr && communicators_->ExpectsLane(session, epoch);
  };
  options.on_connection = [this](transport::DataConnection connection) {
    WaitUntilBuilt();
    if (communicators_ != nullptr) communicators_->OnLane(std::move(connection));
  };
  return options;
}

absl::Status Node::MakeStore() {
  if (!config_.has_store()) return absl::OkStatus();
  const v1::EtcdConfig& etcd = config_.store().etcd();
  store::EtcdOptions options;
  options.endpoints.assign(etcd.endpoints().begin(), etcd.endpoints().end());
  options.prefix = etcd.prefix();
  options.ca_file = etcd.ca_file();
  options.lease = absl::Seconds(etcd.lease_seconds());
  auto made = store::MakeEtcdStore(std::move(options));
  if (!made.ok()) return made.status();
  store_ = *std::move(made);
  return absl::OkStatus();
}

absl::Status Node::LearnRates() {
  auto choices = config::ConfiguredChoices(config_.selector());
  if (!choices.ok()) return choices.status();
  root_facts_.choices = *std::move(choices);
  root_facts_.link_bytes_per_second =
      static_cast<double>(config_.selector().link_mbit_per_second()) * 1e6 / 8;
  // Real ciphers are measured, whatever this daemon seals with: a benchmark's daemons choose alike.
  auto calibration = engine::Calibrate(*crypto::SealedRecords());
  if (!calibration.ok()) {
    base::Log(base::Level::kWarning, "rates not measured: algorithms are chosen by default ones",
              {{"error", calibration.status().message()}});
    return absl::OkStatus();
  }
  root_facts_.calibration = *std::move(calibration);
  const collective::Rates rates = root_facts_.calibration.For(crypto::Suite::kAes256Gcm);
  base::Log(base::Level::kInfo, "rates measured",
            {{"took", absl::FormatDuration(root_facts_.calibration.took)},
             {"seal_ns_per_byte", absl::StrCat(rates.seal_ns_per_byte)},
             {"wire_ns_per_byte", absl::StrCat(rates.wire_ns_per_byte)},
             {"latency_ns", absl::StrCat(rates.latency_ns)}});
  return absl::OkStatus();
}

absl::Status Node::StartNetwork(crypto::RecordCipherFactory& ciphers, engine::StepHook step_hook) {
  auto engine = engine::Engine::Start({.ciphers = &ciphers, .step_hook = std::move(step_hook)});
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  auto sessions = session::SessionManager::Start(SessionOptions());
  if (!sessions.ok()) return sessions.status();
  sessions_ = *std::move(sessions);
  auto listener = transport::DataListener::Start(ListenerOptions());
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  control_address_ = Advertised(config_.control_address(), config_.advertised_control_address(),
                                sessions_->port());
  data_address_ =
      Advertised(config_.data_address(), config_.advertised_data_address(), listener_->port());

  service::CommunicatorManager::Options options;
  options.node = config_.node_name();
  options.control_address = control_address_;
  options.data_address = data_address_;
  options.policy_digest = sessions_->credentials()->appraiser->PolicyDigest();
  options.max_communicators = config_.limits().max_communicators();
  options.engine = engine_.get();
  options.store = store_.get();
  options.facts = root_facts_;
  options.tools.sessions = sessions_.get();
  options.tools.peer = [this](const session::Session& session) { return bridge_->Client(session); };
  options.tools.dial = [socket = DataSocketOptions()](
                           const std::string& address, const session::Session& session,
                           const crypto::EpochId& epoch, uint16_t lane, absl::Time deadline) {
    return transport::DialData(address, session.id(), session.secret(), epoch, lane, socket,
                               deadline);
  };
  communicators_ = std::make_unique<service::CommunicatorManager>(std::move(options));
  auto bridge = service::PeerBridge::Start(communicators_.get());
  if (!bridge.ok()) return bridge.status();
  bridge_ = *std::move(bridge);
  gate_open_ = true;
  build_.set_value();
  return absl::OkStatus();
}

absl::Status Node::StartLocal() {
  if (mkdir(config_.runtime_dir().c_str(), 0755) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot make runtime_dir ", config_.runtime_dir()));
  }
  local::MemoryServer::Options memory;
  memory.path = SocketPath("memory.sock");
  memory.allowed_uids = WorkloadUids();
  memory.applications = &applications_;
  memory.find_ring = [this](const local::Application& application, uint64_t handle) {
    return communicators_->Ring(application, handle);
  };
  memory.on_end = [this](const local::Application& application) {
    communicators_->EndApplication(application);
  };
  auto memory_server = local::MemoryServer::Start(std::move(memory));
  if (!memory_server.ok()) return memory_server.status();
  memory_ = *std::move(memory_server);

  auto workload = service::WorkloadServer::Start({.path = SocketPath("workload.sock"),
                                                  .allowed_uids = WorkloadUids(),
                                                  .applications = &applications_,
                                                  .communicators = communicators_.get()});
  if (!workload.ok()) return workload.status();
  workload_ = *std::move(workload);

  service::NodeFacts facts;
  facts.node = config_.node_name();
  facts.version = std::string(base::kVersion);
  facts.attester = sessions_->credentials()->attester->Describe();
  facts.policy = credentials_.policy_label;
  facts.insecure = credentials_.insecure;
  facts.measurement = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(credentials_.measurement.data()),
                        credentials_.measurement.size()));
  facts.control_address = control_address_;
  facts.data_address = data_address_;
  facts.started = started_;
  facts.rates = root_facts_.calibration.For(crypto::Suite::kAes256Gcm);
  facts.rates.link_bytes_per_second = root_facts_.link_bytes_per_second;
  auto admin = service::AdminServer::Start({.path = SocketPath("admin.sock"),
                                            .allowed_uids = {geteuid(), 0},
                                            .facts = std::move(facts),
                                            .sessions = sessions_.get(),
                                            .engine = engine_.get(),
                                            .applications = &applications_,
                                            .refusals = &refusals_});
  if (!admin.ok()) return admin.status();
  admin_ = *std::move(admin);
  return absl::OkStatus();
}

void Node::Stop() {
  if (stopped_) return;
  stopped_ = true;
  if (!gate_open_) build_.set_value();  // a start that failed: let callbacks see that
  // Communicators first: the other ranks are still there to be told why.
  if (communicators_ != nullptr) communicators_->Stop();
  // Then the network: a call of an application that waits for a session would hold up its server.
  if (listener_ != nullptr) listener_->Stop();
  if (sessions_ != nullptr) sessions_->Stop();
  if (bridge_ != nullptr) bridge_->Stop();
  if (workload_ != nullptr) workload_->Stop();
  if (memory_ != nullptr) memory_->Stop();
  if (admin_ != nullptr) admin_->Stop();
  if (engine_ != nullptr) engine_->Stop();
}

}  // namespace caravan
