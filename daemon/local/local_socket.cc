// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/log.h"

namespace caravan::local {
namespace {

absl::Status Failed(absl::string_view doing, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", doing, " ", path));
}

absl::StatusOr<sockaddr_un> MakeAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket path ", path, " has ", path.size(),
                                                   " bytes, at most ", sizeof(address.sun_path) - 1,
                                                   " fit"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Makes room at `path`: only a socket that nobody answers on is removed.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address, int type) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Failed("look at", path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
  }
  base::Descriptor probe(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return Failed("make a socket for", path);
  int result = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  int error = errno;
  probe.Reset();
  // EAGAIN: its queue is full, so somebody is there.
  if (result == 0 || error != ECONNREFUSED) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is in use: is another daemon running with this runtime_dir?"));
  }
  return unlink(path.c_str()) == 0 ? absl::OkStatus() : Failed("remove the stale socket", path);
}

absl::Status BindAndListen(int fd, const std::string& path, const sockaddr_un& address,
                           bool for_others) {
  // The mode is right from the first moment: no window in which others could connect.
  mode_t before = umask(for_others ? 0111 : 0177);
  int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(before);
  if (bound != 0) return Failed("bind", path);
  if (listen(fd, 128) != 0) return Failed("listen on", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalSocket>> LocalSocket::Start(Options options) {
  absl::StatusOr<sockaddr_un> address = MakeAddress(options.path);
  if (!address.ok()) return address.status();
  int type = options.packets ? SOCK_SEQPACKET : SOCK_STREAM;
  if (absl::Status status = RemoveStale(options.path, *address, type); !status.ok()) return status;
  base::Descriptor fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Failed("make a socket for", options.path);
  const bool for_others = std::any_of(options.allowed_uids.begin(), options.allowed_uids.end(),
                                      [](uid_t uid) { return uid != geteuid() && uid != 0; });
  absl::Status status = BindAndListen(fd.get(), options.path, *address, for_others);
  if (!status.ok()) return status;
  base::Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Failed("make an eventfd for", options.path);
  return std::unique_ptr<LocalSocket>(
      new LocalSocket(std::move(options), std::move(fd), std::move(wake)));
}

LocalSocket::LocalSocket(Options options, base::Descriptor fd, base::Descriptor wake)
    : options_(std::move(options)),
      fd_(std::move(fd)),
      wake_(std::move(wake)),
      thread_([this] { Run(); }) {}

LocalSocket::~LocalSocket() { Stop(); }

void LocalSocket::Stop() {
  if (!thread_.joinable()) return;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof(one));
  thread_.join();
  unlink(options_.path.c_str());
  fd_.Reset();
}

void LocalSocket::Run() {
  while (true) {
    pollfd fds[] = {{fd_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) continue;  // EINTR
    if (fds[1].revents != 0) return;
    if (fds[0].revents != 0) Accept();
  }
}

void LocalSocket::Accept() {
  base::Descriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      base::Log(base::Level::kWarning, "cannot accept",
                {{"socket", options_.path}, {"error", std::strerror(errno)}});
      // The connection stays in the queue: without a pause this would spin.
      poll(nullptr, 0, 100);
    }
    return;
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  Credentials credentials{peer.pid, peer.uid, peer.gid};
  const auto& allowed = options_.allowed_uids;
  if (std::find(allowed.begin(), allowed.end(), credentials.uid) != allowed.end()) {
    options_.on_connection(fd.Release(), credentials);
    return;
  }
  base::Log(base::Level::kWarning, "refused a local user",
            {{"socket", options_.path}, {"uid", credentials.uid}, {"pid", credentials.pid}});
  if (options_.on_refused) options_.on_refused(fd.Release(), credentials);
}

}  // namespace caravan::local
