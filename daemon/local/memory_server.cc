// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/memory_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "proto/caravan/v1/memory_socket.h"

namespace caravan::local {
namespace {

v1::MemoryReply MakeReply(const absl::Status& status) {
  v1::MemoryReply reply{};
  reply.magic = v1::kMemoryMagic;
  reply.code = static_cast<uint32_t>(status.code());
  status.message().copy(reply.message, sizeof(reply.message) - 1);
  return reply;
}

// One packet, with `passed` attached unless it is -1. A client that does not read loses its
// connection: the server never waits for it.
absl::Status Send(int fd, const v1::MemoryReply& reply, int passed) {
  iovec bytes{const_cast<v1::MemoryReply*>(&reply), sizeof(reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof(int));
  }
  if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(reply)) {
    return absl::ErrnoToStatus(errno, "cannot send a reply");
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const v1::MemoryRequest& request, ssize_t size, bool truncated) {
  if (size != sizeof(request) || truncated) {
    return absl::InvalidArgumentError(absl::StrCat("a request has ", sizeof(request),
                                                   " bytes, this one ",
                                                   truncated ? "more" : absl::StrCat(size)));
  }
  if (request.magic != v1::kMemoryMagic) return absl::InvalidArgumentError("magic: is wrong");
  if (request.version != v1::kMemoryVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("version: ", request.version, ", this daemon speaks ", v1::kMemoryVersion));
  }
  if (request.reserved != 0) return absl::InvalidArgumentError("reserved: is not zero");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryServer>> MemoryServer::Start(Options options) {
  int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) return absl::ErrnoToStatus(errno, "cannot make an eventfd");
  LocalSocket::Options socket;
  socket.path = options.path;
  socket.packets = true;
  socket.allowed_uids = options.allowed_uids;
  std::unique_ptr<MemoryServer> server(new MemoryServer(std::move(options), wake_fd));
  MemoryServer* self = server.get();
  socket.on_connection = [self](int fd, const Credentials& credentials) {
    std::lock_guard<std::mutex> lock(self->mutex_);
    self->arrived_.emplace_back(fd, credentials);
    eventfd_write(self->wake_fd_, 1);
  };
  socket.on_refused = [](int fd, const Credentials& credentials) {
    Send(fd,
         MakeReply(absl::PermissionDeniedError(
             absl::StrCat("this daemon does not serve uid ", credentials.uid, " (allowed_uids)"))),
         -1)
        .IgnoreError();
    close(fd);
  };
  auto listening = LocalSocket::Start(std::move(socket));
  if (!listening.ok()) return listening.status();
  server->socket_ = *std::move(listening);
  server->thread_ = std::thread([self] { self->Run(); });
  return server;
}

MemoryServer::MemoryServer(Options options, int wake_fd)
    : options_(std::move(options)), wake_fd_(wake_fd) {}

MemoryServer::~MemoryServer() {
  Stop();
  close(wake_fd_);
}

void MemoryServer::Stop() {
  if (socket_ != nullptr) socket_->Stop();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_fd_, 1);
  if (thread_.joinable()) thread_.join();
}

void MemoryServer::TakeNew(std::map<int, Connection>* connections) {
  eventfd_t ignored;
  eventfd_read(wake_fd_, &ignored);
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [fd, credentials] : arrived_) {
    if (connections->size() < options_.max_connections) {
      connections->emplace(fd, Connection{credentials, nullptr});
      continue;
    }
    Send(fd, MakeReply(absl::ResourceExhaustedError("too many connections to memory.sock")), -1)
        .IgnoreError();
    close(fd);
  }
  arrived_.clear();
}

void MemoryServer::Run() {
  std::map<int, Connection> connections;
  std::vector<pollfd> fds;
  while (true) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_ && arrived_.empty()) break;
    }
    fds.assign(1, {wake_fd_, POLLIN, 0});
    for (const auto& [fd, connection] : connections) fds.push_back({fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0) continue;  // EINTR
    for (size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      auto found = connections.find(fds[i].fd);
      if (Serve(found->first, &found->second)) continue;
      Close(found->first, found->second);
      connections.erase(found);
    }
    if (fds[0].revents != 0) TakeNew(&connections);
  }
  for (const auto& [fd, connection] : connections) Close(fd, connection);
}

bool MemoryServer::Serve(int fd, Connection* connection) {
  absl::Status status = Answer(fd, connection);
  if (status.ok()) return true;
  // Cancelled: an orderly end, or nobody is there to be told.
  if (!absl::IsCancelled(status)) {
    base::Log(base::Level::kWarning, "ended a memory.sock connection",
              {{"pid", connection->credentials.pid}, {"reason", status.message()}});
    Send(fd, MakeReply(status), -1).IgnoreError();
  }
  return false;
}

// An error ends the connection; what a well-formed request lacks is answered and kept.
absl::Status MemoryServer::Answer(int fd, Connection* connection) {
  v1::MemoryRequest request{};
  iovec bytes{&request, sizeof(request)};
  msghdr message{};  // no room for control data: descriptors sent to us are closed by the kernel
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (size <= 0) return absl::CancelledError("closed");
  absl::Status status = CheckRequest(request, size, (message.msg_flags & MSG_TRUNC) != 0);
  if (!status.ok()) return status;

  std::shared_ptr<engine::SharedMemory> memory;
  switch (request.kind) {
    case v1::MemoryRequestKind::kHello: {
      if (connection->application != nullptr) {
        return absl::FailedPreconditionError("hello: was said already on this connection");
      }
      auto application = options_.applications->Add(connection->credentials);
      if (!application.ok()) return application.status();
      connection->application = *application;
      v1::MemoryReply reply = MakeReply(absl::OkStatus());
      std::memcpy(reply.token, (*application)->token.data(), sizeof(reply.token));
      if (!Send(fd, reply, (*application)->wake_fd).ok()) return absl::CancelledError("closed");
      return absl::OkStatus();
    }
    case v1::MemoryRequestKind::kBuffer:
    case v1::MemoryRequestKind::kRing: {
      if (connection->application == nullptr) {
        return absl::FailedPreconditionError("hello: comes first on a connection");
      }
      const Application& application = *connection->application;
      if (request.kind == v1::MemoryRequestKind::kRing) {
        auto ring = options_.find_ring(application, request.id);
        status = ring.status();
        if (ring.ok()) memory = *std::move(ring);
      } else if (request.id <= UINT32_MAX) {
        memory = application.buffers->Find(static_cast<uint32_t>(request.id));
      }
      if (memory == nullptr && status.ok()) {
        status = absl::NotFoundError(
            absl::StrCat("id: ", request.id, " is no buffer of this application"));
      }
      break;
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("kind: ", static_cast<uint32_t>(request.kind), " is unknown"));
  }
  v1::MemoryReply reply = MakeReply(status);
  if (memory != nullptr) reply.size = memory->size();
  status = Send(fd, reply, memory == nullptr ? -1 : memory->fd());
  return status.ok() ? status : absl::CancelledError("closed");
}

void MemoryServer::Close(int fd, const Connection& connection) {
  close(fd);
  if (connection.application == nullptr) return;
  options_.applications->Remove(connection.application->id);
  options_.on_end(*connection.application);
}

}  // namespace caravan::local
