// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/admin_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/cost/selector.h"
#include "daemon/local/local_grpc.h"
#include "proto/caravan/v1/admin.grpc.pb.h"

namespace caravan::service {
namespace {

constexpr size_t kMinIdPrefix = 4;  // hex digits

template <size_t N>
std::string Hex(const std::array<uint8_t, N>& bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

v1::SessionInfo Describe(const session::Session& session) {
  v1::SessionInfo info;
  info.set_id(Hex(session.id()));
  info.set_peer_address(session.peer_address());
  info.set_peer_spki(Hex(session.peer_spki()));
  info.set_role(session.role() == crypto::Role::kInitiator ? "initiator" : "responder");
  info.set_round(session.round());
  info.set_established_unix_ms(absl::ToUnixMillis(session.established()));
  info.set_attested_unix_ms(absl::ToUnixMillis(session.last_attested()));
  attestation::Appraisal appraisal = session.peer_appraisal();
  info.set_platform(appraisal.platform);
  info.set_verdict(std::string(attestation::Name(appraisal.verdict)));
  info.set_insecure(appraisal.insecure);
  for (const attestation::Check& check : appraisal.checks) {
    v1::CheckInfo* out = info.add_checks();
    out->set_id(check.id);
    out->set_what(check.what);
    out->set_outcome(std::string(attestation::Name(check.outcome)));
    out->set_detail(check.detail);
    out->set_hint(check.hint);
  }
  for (const auto& [key, value] : appraisal.claims) (*info.mutable_claims())[key] = value;
  return info;
}

v1::CommunicatorInfo Describe(const engine::GroupStatus& group) {
  v1::CommunicatorInfo info;
  info.set_name(group.name);
  info.set_epoch(Hex(group.epoch));
  info.set_rank(group.rank);
  info.set_size(group.size);
  info.set_suite(group.suite);
  info.set_operations(group.operations);
  info.set_sealed_bytes(group.counted.sealed);
  info.set_opened_bytes(group.counted.opened);
  info.set_forwarded_bytes(group.counted.forwarded);
  info.set_sent_bytes(group.counted.sent);
  info.set_received_bytes(group.counted.received);
  info.set_expected_sealed_bytes(group.expected.sealed);
  info.set_expected_opened_bytes(group.expected.opened);
  info.set_expected_forwarded_bytes(group.expected.forwarded);
  info.set_expected_sent_bytes(group.expected.sent);
  info.set_tag_failures(group.tag_failures);
  info.set_memory_bytes(group.memory_bytes);
  info.set_ranks_here(group.local);
  info.set_failure(std::string(group.failure.message()));
  info.set_selector_table(collective::Canonical(group.selector));
  info.set_lanes(group.lanes);
  return info;
}

class Server : public AdminServer, public v1::Admin::Service {
 public:
  explicit Server(Options options) : options_(std::move(options)) {}
  ~Server() override { Stop(); }

  absl::Status Listen() {
    auto local = local::LocalGrpc::Start(options_.path, options_.allowed_uids, this);
    if (!local.ok()) return local.status();
    local_ = *std::move(local);
    return absl::OkStatus();
  }

  void Stop() override {
    if (local_ != nullptr) local_->Stop();
  }

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    const NodeFacts& facts = options_.facts;
    reply->set_node(facts.node);
    reply->set_version(facts.version);
    reply->set_attester(facts.attester);
    reply->set_policy(facts.policy);
    reply->set_insecure(facts.insecure);
    reply->set_spki(Hex(options_.sessions->local_spki()));
    reply->set_measurement(facts.measurement);
    reply->set_control_address(facts.control_address);
    reply->set_data_address(facts.data_address);
    reply->set_started_unix_ms(absl::ToUnixMillis(facts.started));
    for (const collective::NamedRate& named : collective::NamedRates()) {
      (*reply->mutable_rates())[named.name] = facts.rates.*named.rate;
    }
    for (const auto& session : options_.sessions->List()) {
      *reply->add_sessions() = Describe(*session);
    }
    for (const engine::GroupStatus& group : options_.engine->List()) {
      *reply->add_communicators() = Describe(group);
    }
    for (const Refusals::Entry& entry : options_.refusals->Latest()) {
      v1::RefusalInfo* info = reply->add_refusals();
      info->set_unix_ms(absl::ToUnixMillis(entry.when));
      info->set_peer_address(entry.address);
      info->set_reason(entry.reason);
    }
    reply->set_refused(options_.refusals->count());
    reply->set_applications(options_.applications->count());
    reply->set_now_unix_ms(absl::ToUnixMillis(absl::Now()));
    return grpc::Status::OK;
  }

  grpc::Status ListSessions(grpc::ServerContext*, const v1::ListSessionsRequest*,
                            v1::ListSessionsReply* reply) override {
    for (const auto& session : options_.sessions->List()) {
      *reply->add_sessions() = Describe(*session);
    }
    reply->set_now_unix_ms(absl::ToUnixMillis(absl::Now()));
    return grpc::Status::OK;
  }

  grpc::Status CloseSession(grpc::ServerContext*, const v1::CloseSessionRequest* request,
                            v1::CloseSessionReply*) override {
    return local::ToGrpc(Close(absl::AsciiStrToLower(request->id())));
  }

 private:
  absl::Status Close(const std::string& prefix) {
    if (prefix.size() < kMinIdPrefix) {
      return absl::InvalidArgumentError(
          absl::StrCat("id: give at least ", kMinIdPrefix, " hex digits"));
    }
    std::vector<std::shared_ptr<session::Session>> matches;
    for (const auto& session : options_.sessions->List()) {
      if (absl::StartsWith(Hex(session->id()), prefix)) matches.push_back(session);
    }
    if (matches.empty()) {
      return absl::NotFoundError(
          absl::StrCat("id: no session begins with ", absl::Utf8SafeCEscape(prefix)));
    }
    if (matches.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("id: ", matches.size(), " sessions begin with ", prefix));
    }
    matches.front()->Close(absl::CancelledError("closed by an administrator"));
    return absl::OkStatus();
  }

  const Options options_;
  std::unique_ptr<local::LocalGrpc> local_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(Options options) {
  auto server = std::make_unique<Server>(std::move(options));
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

}  // namespace caravan::service
