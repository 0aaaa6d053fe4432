// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_bridge.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "daemon/local/fd_server.h"
#include "proto/caravan/v1/peer.grpc.pb.h"

namespace caravan::service {
namespace {

// A roster of 1024 members is about 800 KiB.
constexpr int kMaxMessage = 4 << 20;

class GrpcPeerClient : public membership::PeerClient {
 public:
  explicit GrpcPeerClient(int fd) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessage);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    stub_ = v1::Peer::NewStub(grpc::CreateCustomInsecureChannelFromFd("peer", fd, arguments));
  }

  absl::Status Join(const v1::JoinRequest& request, v1::JoinReply* reply, absl::Time deadline,
                    membership::Cancellation* cancellation) override {
    return Call(deadline, cancellation,
                [&](grpc::ClientContext* context) { return stub_->Join(context, request, reply); });
  }
  absl::Status Confirm(const v1::ConfirmRequest& request, v1::ConfirmReply* reply,
                       absl::Time deadline, membership::Cancellation* cancellation) override {
    return Call(deadline, cancellation, [&](grpc::ClientContext* context) {
      return stub_->Confirm(context, request, reply);
    });
  }
  absl::Status ReportFault(const v1::ReportFaultRequest& request, v1::ReportFaultReply* reply,
                           absl::Time deadline) override {
    return Call(deadline, nullptr, [&](grpc::ClientContext* context) {
      return stub_->ReportFault(context, request, reply);
    });
  }
  absl::Status EndEpoch(const v1::EndEpochRequest& request, absl::Time deadline) override {
    v1::EndEpochReply reply;
    return Call(deadline, nullptr, [&](grpc::ClientContext* context) {
      return stub_->EndEpoch(context, request, &reply);
    });
  }
  absl::Status DescribeOperation(const v1::DescribeOperationRequest& request,
                                 v1::DescribeOperationReply* reply, absl::Time deadline) override {
    return Call(deadline, nullptr, [&](grpc::ClientContext* context) {
      return stub_->DescribeOperation(context, request, reply);
    });
  }
  absl::Status DescribeWait(const v1::DescribeWaitRequest& request, v1::DescribeWaitReply* reply,
                            absl::Time deadline) override {
    return Call(deadline, nullptr, [&](grpc::ClientContext* context) {
      return stub_->DescribeWait(context, request, reply);
    });
  }

 private:
  template <typename Function>
  absl::Status Call(absl::Time deadline, membership::Cancellation* cancellation,
                    const Function& function) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    if (cancellation == nullptr) return local::FromGrpc(function(&context));
    absl::Status status;
    {
      membership::Cancellation::Hook cancel(*cancellation, [&] { context.TryCancel(); });
      status = local::FromGrpc(function(&context));
    }
    absl::Status cancelled = cancellation->status();
    return cancelled.ok() ? status : cancelled;
  }

  std::unique_ptr<v1::Peer::Stub> stub_;
};

}  // namespace

class PeerBridge::Service : public v1::Peer::Service {
 public:
  explicit Service(membership::PeerHandler* handler) : handler_(handler) {}

  absl::Status Start() {
    auto server = local::FdServer::Start(
        {.services = {this}, .max_message_bytes = kMaxMessage, .keepalive = true});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  void Serve(int fd, std::shared_ptr<session::Session> session) {
    sessions_.Set(fd, session);
    if (absl::Status status = server_->Add(fd); !status.ok()) session->Close(status);
  }

  void Stop() { server_->Stop(absl::Milliseconds(200)); }

  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::JoinReply* reply) override {
    return Handle(context,
                  [&](const membership::Caller& c) { return handler_->Join(c, *request, reply); });
  }
  grpc::Status Confirm(grpc::ServerContext* context, const v1::ConfirmRequest* request,
                       v1::ConfirmReply* reply) override {
    return Handle(context, [&](const membership::Caller& c) {
      return handler_->Confirm(c, *request, reply);
    });
  }
  grpc::Status ReportFault(grpc::ServerContext* context, const v1::ReportFaultRequest* request,
                           v1::ReportFaultReply* reply) override {
    return Handle(context, [&](const membership::Caller& c) {
      return handler_->ReportFault(c, *request, reply);
    });
  }
  grpc::Status EndEpoch(grpc::ServerContext* context, const v1::EndEpochRequest* request,
                        v1::EndEpochReply*) override {
    return Handle(context,
                  [&](const membership::Caller& c) { return handler_->EndEpoch(c, *request); });
  }
  grpc::Status DescribeOperation(grpc::ServerContext* context,
                                 const v1::DescribeOperationRequest* request,
                                 v1::DescribeOperationReply* reply) override {
    return Handle(context, [&](const membership::Caller& c) {
      return handler_->DescribeOperation(c, *request, reply);
    });
  }
  grpc::Status DescribeWait(grpc::ServerContext* context, const v1::DescribeWaitRequest* request,
                            v1::DescribeWaitReply* reply) override {
    return Handle(context, [&](const membership::Caller& c) {
      return handler_->DescribeWait(c, *request, reply);
    });
  }

 private:
  template <typename Function>
  grpc::Status Handle(grpc::ServerContext* context, const Function& function) {
    membership::Caller caller;
    std::weak_ptr<session::Session> session;
    if (sessions_.Find(context->peer(), &session)) caller.session = session.lock();
    // A call of a connection that has closed meanwhile: its descriptor may be another's by now.
    if (caller.session == nullptr || context->IsCancelled() || !caller.session->status().ok()) {
      return local::ToGrpc(absl::UnavailableError("the session has closed"));
    }
    caller.deadline = absl::FromChrono(context->deadline());
    caller.cancelled = [context] { return context->IsCancelled(); };
    return local::ToGrpc(function(caller));
  }

  membership::PeerHandler* const handler_;
  // Weak: a closed session's secret does not wait for its descriptor's number to be used again.
  local::FdMap<std::weak_ptr<session::Session>> sessions_;
  std::unique_ptr<local::FdServer> server_;
};

PeerBridge::PeerBridge() = default;
PeerBridge::~PeerBridge() { Stop(); }

absl::StatusOr<std::unique_ptr<PeerBridge>> PeerBridge::Start(membership::PeerHandler* handler) {
  std::unique_ptr<PeerBridge> bridge(new PeerBridge());
  bridge->service_ = std::make_unique<Service>(handler);
  if (absl::Status status = bridge->service_->Start(); !status.ok()) {
    bridge->service_.reset();
    return status;
  }
  return bridge;
}

void PeerBridge::Add(const std::shared_ptr<session::Session>& session) {
  int incoming = session->TakeIncomingStream();
  int outgoing = session->TakeOutgoingStream();
  if (incoming < 0 || outgoing < 0) {
    if (incoming >= 0) close(incoming);
    if (outgoing >= 0) close(outgoing);
    session->Close(absl::InternalError("the session's streams are taken already"));
    return;
  }
  auto client = std::make_shared<GrpcPeerClient>(outgoing);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    clients_[session->id()] = std::move(client);
  }
  service_->Serve(incoming, session);
}

void PeerBridge::Remove(const session::Session& session) {
  std::shared_ptr<membership::PeerClient> client;  // destroyed outside the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = clients_.find(session.id());
  if (found == clients_.end()) return;
  client = std::move(found->second);
  clients_.erase(found);
}

std::shared_ptr<membership::PeerClient> PeerBridge::Client(const session::Session& session) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = clients_.find(session.id());
  return found == clients_.end() ? nullptr : found->second;
}

void PeerBridge::Stop() {
  if (service_ != nullptr) service_->Stop();
  std::map<crypto::SessionId, std::shared_ptr<membership::PeerClient>> clients;
  std::lock_guard<std::mutex> lock(mutex_);
  clients.swap(clients_);
}

}  // namespace caravan::service
