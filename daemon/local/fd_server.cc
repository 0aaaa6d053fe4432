// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/fd_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/reason.h"
#include "proto/caravan/v1/answer.h"

namespace caravan::local {

absl::StatusOr<std::unique_ptr<FdServer>> FdServer::Start(const Options& options) {
  grpc::ServerBuilder builder;
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  grpc::ResourceQuota quota("caravan");
  quota.SetMaxThreads(options.max_threads);
  builder.SetResourceQuota(quota);
  if (options.keepalive) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::InternalError("the gRPC server does not start");
  return std::unique_ptr<FdServer>(new FdServer(std::move(server)));
}

FdServer::FdServer(std::unique_ptr<grpc::Server> server) : server_(std::move(server)) {}

FdServer::~FdServer() { Stop(); }

absl::Status FdServer::Add(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) {
    close(fd);
    return absl::InternalError(absl::StrCat("descriptor ", fd, " is not a non-blocking one"));
  }
  grpc::AddInsecureChannelFromFd(server_.get(), fd);
  return absl::OkStatus();
}

void FdServer::Stop(absl::Duration grace) {
  if (stopped_) return;
  stopped_ = true;
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
  server_->Wait();
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      v1::kDaemonAnswers);
}

absl::Status FromGrpc(const grpc::Status& status) {
  return base::WithReasonOfText(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
}

}  // namespace caravan::local
