// SPDX-License-Identifier: Apache-2.0
#include "daemon/ops/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::ops {

absl::Status Notify(absl::string_view socket, absl::string_view state) {
  if (socket.empty()) return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((socket[0] != '/' && socket[0] != '@') || socket.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET ", socket, " is no absolute path of at most 107 bytes"));
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const base::Descriptor datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!datagrams.valid()) return absl::ErrnoToStatus(errno, "cannot make a socket");
  ssize_t sent = sendto(datagrams.get(), state.data(), state.size(), MSG_NOSIGNAL,
                        reinterpret_cast<const sockaddr*>(&address),
                        offsetof(sockaddr_un, sun_path) + socket.size());
  if (sent < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot notify NOTIFY_SOCKET ", socket));
  }
  return absl::OkStatus();
}

}  // namespace caravan::ops
