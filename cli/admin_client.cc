// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_client.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "proto/caravan/v1/admin.grpc.pb.h"

namespace caravan::cli {
namespace {

// Connected here rather than by gRPC, which tells no refusal from an absence.
absl::StatusOr<base::Descriptor> ConnectSocket(const std::string& path, absl::Duration timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": longer than the ", sizeof address.sun_path - 1, " bytes of a socket's path"));
  }
  memcpy(address.sun_path, path.data(), path.size());
  base::Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::InternalError(absl::StrCat("making a socket: ", strerror(errno)));
  const timeval limit = absl::ToTimeval(timeout);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0) {
    // The socket's group may connect, but the daemon hangs up on all but its own user and root.
    ucred daemon{};
    socklen_t size = sizeof daemon;
    if (geteuid() != 0 && getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &daemon, &size) == 0 &&
        daemon.uid != geteuid()) {
      return absl::PermissionDeniedError(
          absl::StrCat(path, ": the daemon serves its own user (uid ", daemon.uid,
                       ") and root, not uid ", geteuid()));
    }
    return fd;
  }
  const int error = errno;
  const std::string message = absl::StrCat(path, ": ", strerror(error));
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  if (error == EAGAIN) return absl::DeadlineExceededError(message);
  return absl::UnavailableError(message);
}

class GrpcAdminClient : public AdminClient {
 public:
  GrpcAdminClient(std::shared_ptr<grpc::Channel> channel, absl::Duration timeout)
      : stub_(v1::Admin::NewStub(std::move(channel))), timeout_(timeout) {}

  absl::StatusOr<v1::GetStatusReply> GetStatus() override {
    v1::GetStatusReply reply;
    auto status = Call(&v1::Admin::Stub::GetStatus, v1::GetStatusRequest(), reply);
    if (!status.ok()) return status;
    return reply;
  }

  absl::StatusOr<v1::ListSessionsReply> ListSessions() override {
    v1::ListSessionsReply reply;
    auto status = Call(&v1::Admin::Stub::ListSessions, v1::ListSessionsRequest(), reply);
    if (!status.ok()) return status;
    return reply;
  }

  absl::Status CloseSession(const std::string& id) override {
    v1::CloseSessionRequest request;
    request.set_id(id);
    v1::CloseSessionReply reply;
    return Call(&v1::Admin::Stub::CloseSession, request, reply);
  }

 private:
  template <typename Method, typename Request, typename Reply>
  absl::Status Call(Method method, const Request& request, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout_));
    const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    if (status.ok()) return absl::OkStatus();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  const std::unique_ptr<v1::Admin::Stub> stub_;
  const absl::Duration timeout_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Connect(const std::string& runtime_dir,
                                                                  absl::Duration timeout) {
  auto fd = ConnectSocket(absl::StrCat(runtime_dir, "/admin.sock"), timeout);
  if (!fd.ok()) return fd.status();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);  // a thousand sessions with their checks
  return std::make_unique<GrpcAdminClient>(
      grpc::CreateCustomInsecureChannelFromFd("caravand", fd->Release(), arguments), timeout);
}

}  // namespace caravan::cli
