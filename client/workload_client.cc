// SPDX-License-Identifier: Apache-2.0
#include "client/workload_client.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/memory_client.h"
#include "proto/caravan/v1/answer.h"
#include "proto/caravan/v1/workload.grpc.pb.h"

namespace caravan::client {
namespace {

// What the daemon is given on top of create_timeout, so that its own account of what was missing
// arrives before the call is given up.
constexpr absl::Duration kGrace = absl::Seconds(5);

class GrpcWorkloadClient : public WorkloadClient {
 public:
  GrpcWorkloadClient(std::string path, std::string token, absl::Duration timeout,
                     std::shared_ptr<grpc::Channel> channel)
      : path_(std::move(path)),
        token_(std::move(token)),
        timeout_(timeout),
        stub_(v1::Workload::NewStub(std::move(channel))) {}

  absl::StatusOr<uint32_t> AllocateBuffer(uint64_t size) override {
    v1::AllocateBufferRequest request;
    request.set_size(size);
    v1::AllocateBufferReply reply;
    auto status = Call(&v1::Workload::Stub::AllocateBuffer, request, reply, timeout_);
    if (!status.ok()) return status;
    return reply.buffer_id();
  }

  absl::Status FreeBuffer(uint32_t id) override {
    v1::FreeBufferRequest request;
    request.set_buffer_id(id);
    v1::FreeBufferReply reply;
    return Call(&v1::Workload::Stub::FreeBuffer, request, reply, timeout_);
  }

  absl::StatusOr<uint64_t> CreateCommunicator(const Rendezvous& rendezvous, int rank, int size,
                                              const CommunicatorOptions& options,
                                              const Lineage& lineage) override {
    v1::CreateCommunicatorRequest request;
    request.set_name(rendezvous.name);
    request.set_root_address(rendezvous.root_address);
    request.set_parent(lineage.parent);
    request.mutable_members()->Assign(lineage.members.begin(), lineage.members.end());
    request.set_rank(static_cast<uint32_t>(rank));
    request.set_size(static_cast<uint32_t>(size));
    request.set_chunk_log2(static_cast<uint32_t>(options.chunk_log2));
    request.set_lanes(static_cast<uint32_t>(options.lanes));
    request.set_suite(options.suite);
    request.set_ranks_per_node(static_cast<uint32_t>(options.ranks_per_node));
    request.set_deadline_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(options.deadline)));
    request.set_timeout_ms(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(options.create_timeout)));
    v1::CreateCommunicatorReply reply;
    auto status = Call(&v1::Workload::Stub::CreateCommunicator, request, reply,
                       options.create_timeout + kGrace);
    if (!status.ok()) return status;
    return reply.handle();
  }

  absl::Status DestroyCommunicator(uint64_t handle) override {
    v1::DestroyCommunicatorRequest request;
    request.set_handle(handle);
    v1::DestroyCommunicatorReply reply;
    return Call(&v1::Workload::Stub::DestroyCommunicator, request, reply, timeout_);
  }

  absl::Status AbortCommunicator(uint64_t handle, const std::string& reason) override {
    v1::AbortCommunicatorRequest request;
    request.set_handle(handle);
    request.set_reason(reason);
    v1::AbortCommunicatorReply reply;
    return Call(&v1::Workload::Stub::AbortCommunicator, request, reply, timeout_);
  }

 private:
  absl::Status Translate(const grpc::Status& status, absl::Duration timeout) const {
    if (status.ok()) return absl::OkStatus();
    const absl::Status said(static_cast<absl::StatusCode>(status.error_code()),
                            status.error_message());
    // The daemon's own account, of a peer that it can't reach for one, stands as it is.
    if (status.error_details() == v1::kDaemonAnswers) return said;
    if (absl::IsUnavailable(said)) {
      return absl::UnavailableError(
          absl::StrCat("the daemon at ", path_, " went away: ", said.message()));
    }
    if (absl::IsDeadlineExceeded(said)) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the daemon at ", path_, " did not answer within ", absl::FormatDuration(timeout)));
    }
    return said;
  }

  template <typename Method, typename Request, typename Reply>
  absl::Status Call(Method method, Request& request, Reply& reply, absl::Duration timeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
    request.set_token(token_);
    return Translate(((*stub_).*method)(&context, request, &reply), timeout);
  }

  const std::string path_;
  const std::string token_;
  const absl::Duration timeout_;
  const std::unique_ptr<v1::Workload::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkloadClient>> WorkloadClient::Connect(const std::string& path,
                                                                        std::string token,
                                                                        absl::Duration timeout) {
  auto socket = ConnectUnix(path, SOCK_STREAM, timeout);
  if (!socket.ok()) return socket.status();
  // gRPC needs a descriptor that does not block.
  if (fcntl(socket->get(), F_SETFL, fcntl(socket->get(), F_GETFL) | O_NONBLOCK) != 0) {
    return absl::InternalError(absl::StrCat(path, ": the socket can't be made non-blocking"));
  }
  auto channel = grpc::CreateInsecureChannelFromFd("caravand", socket->Release());
  return std::make_unique<GrpcWorkloadClient>(path, std::move(token), timeout, std::move(channel));
}

}  // namespace caravan::client
