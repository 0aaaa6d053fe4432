// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/workload_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/socket_address.h"
#include "config/config.h"
#include "daemon/local/local_grpc.h"
#include "proto/caravan/v1/workload.grpc.pb.h"

namespace caravan::service {
namespace {

constexpr uint64_t kMinDeadlineMs = 10;
constexpr uint64_t kMaxDeadlineMs = 86'400'000;  // a day

absl::StatusOr<absl::Duration> Milliseconds(absl::string_view field, uint64_t value) {
  if (value < kMinDeadlineMs || value > kMaxDeadlineMs) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", value, " is not ", kMinDeadlineMs, " to ", kMaxDeadlineMs));
  }
  return absl::Milliseconds(static_cast<int64_t>(value));
}

class Server : public WorkloadServer, public v1::Workload::Service {
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

  grpc::Status AllocateBuffer(grpc::ServerContext* context,
                              const v1::AllocateBufferRequest* request,
                              v1::AllocateBufferReply* reply) override {
    return For(context, request->token(), [&](const Owner& application) -> absl::Status {
      if (request->size() == 0) return absl::InvalidArgumentError("size: is 0");
      absl::StatusOr<uint32_t> id = application->buffers->Allocate(request->size());
      if (!id.ok()) return id.status();
      reply->set_buffer_id(*id);
      return absl::OkStatus();
    });
  }

  grpc::Status FreeBuffer(grpc::ServerContext* context, const v1::FreeBufferRequest* request,
                          v1::FreeBufferReply*) override {
    return For(context, request->token(), [&](const Owner& application) {
      return application->buffers->Free(request->buffer_id());
    });
  }

  grpc::Status CreateCommunicator(grpc::ServerContext* context,
                                  const v1::CreateCommunicatorRequest* request,
                                  v1::CreateCommunicatorReply* reply) override {
    return For(context, request->token(), [&](const Owner& application) -> absl::Status {
      auto options = ToCreateOptions(request->name(), request->root_address(), request->rank(),
                                     request->deadline_ms(), request->timeout_ms());
      if (!options.ok()) return options.status();
      options->size = request->size();
      options->chunk_log2 = request->chunk_log2();
      options->lanes = request->lanes();
      options->suite = request->suite();
      options->ranks_per_node = std::max<uint32_t>(request->ranks_per_node(), 1);
      options->parent = request->parent();
      options->members.assign(request->members().begin(), request->members().end());
      auto created = options_.communicators->Create(application, *std::move(options));
      if (!created.ok()) return created.status();
      reply->set_handle(created->handle);
      reply->set_suite(created->suite);
      return absl::OkStatus();
    });
  }

  grpc::Status DestroyCommunicator(grpc::ServerContext* context,
                                   const v1::DestroyCommunicatorRequest* request,
                                   v1::DestroyCommunicatorReply*) override {
    return For(context, request->token(), [&](const Owner& application) {
      return options_.communicators->Destroy(*application, request->handle());
    });
  }

  grpc::Status AbortCommunicator(grpc::ServerContext* context,
                                 const v1::AbortCommunicatorRequest* request,
                                 v1::AbortCommunicatorReply*) override {
    return For(context, request->token(), [&](const Owner& application) {
      return options_.communicators->Abort(*application, request->handle(), request->reason());
    });
  }

 private:
  using Owner = std::shared_ptr<local::Application>;

  template <typename Function>
  grpc::Status For(grpc::ServerContext* context, const std::string& token,
                   const Function& function) {
    auto caller = local_->CallerOf(context->peer());
    if (!caller.ok()) return local::ToGrpc(caller.status());
    auto application = options_.applications->Find(token, caller->uid);
    if (!application.ok()) return local::ToGrpc(application.status());
    return local::ToGrpc(function(*application));
  }

  const Options options_;
  std::unique_ptr<local::LocalGrpc> local_;
};

}  // namespace

absl::StatusOr<CreateOptions> ToCreateOptions(const std::string& name,
                                              const std::string& root_address, uint32_t rank,
                                              uint64_t deadline_ms, uint64_t timeout_ms) {
  CreateOptions options;
  options.name = name;
  options.root_address = root_address;
  options.rank = rank;
  if (rank != 0 && !root_address.empty()) {
    auto address = base::ParseHostPort(root_address);
    if (!address.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("root_address: ", address.status().message()));
    }
    if (address->port == 0) return absl::InvalidArgumentError("root_address: its port is 0");
  }
  auto deadline = Milliseconds("deadline_ms", deadline_ms);
  if (!deadline.ok()) return deadline.status();
  auto timeout = Milliseconds("timeout_ms", timeout_ms);
  if (!timeout.ok()) return timeout.status();
  options.deadline = *deadline;
  options.timeout = *timeout;
  return options;
}

absl::StatusOr<std::unique_ptr<WorkloadServer>> WorkloadServer::Start(Options options) {
  auto server = std::make_unique<Server>(std::move(options));
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

}  // namespace caravan::service
