// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_grpc.h"

#include <utility>

#include "base/log.h"

namespace caravan::local {

absl::StatusOr<std::unique_ptr<LocalGrpc>> LocalGrpc::Start(const std::string& path,
                                                            std::vector<uid_t> allowed_uids,
                                                            grpc::Service* service) {
  std::unique_ptr<LocalGrpc> local(new LocalGrpc());
  LocalGrpc* self = local.get();
  auto server = FdServer::Start({.services = {service}});
  if (!server.ok()) return server.status();
  local->server_ = *std::move(server);
  LocalSocket::Options options;
  options.path = path;
  options.allowed_uids = std::move(allowed_uids);
  options.on_connection = [self, path](int fd, const Credentials& credentials) {
    self->callers_.Set(fd, credentials);
    if (absl::Status status = self->server_->Add(fd); !status.ok()) {
      base::Log(base::Level::kError, "cannot serve a connection",
                {{"socket", path}, {"error", status.message()}});
    }
  };
  auto socket = LocalSocket::Start(std::move(options));
  if (!socket.ok()) return socket.status();
  local->socket_ = *std::move(socket);
  return local;
}

LocalGrpc::~LocalGrpc() { Stop(); }

absl::StatusOr<Credentials> LocalGrpc::CallerOf(const std::string& peer) const {
  Credentials credentials;
  if (!callers_.Find(peer, &credentials)) {
    return absl::UnauthenticatedError("the caller's credentials are not known");
  }
  return credentials;
}

void LocalGrpc::Stop() {
  if (socket_ != nullptr) socket_->Stop();
  if (server_ != nullptr) server_->Stop();
}

}  // namespace caravan::local
