// SPDX-License-Identifier: Apache-2.0
#include "daemon/transport/data_connection.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/sockets.h"
#include "daemon/transport/preamble.h"
#include "daemon/transport/socket.h"

namespace caravan::transport {

DataConnection::DataConnection(DataConnection&& other) noexcept
    : fd(other.Release()), session(other.session), epoch(other.epoch), lane(other.lane) {}

DataConnection& DataConnection::operator=(DataConnection&& other) noexcept {
  if (this != &other) {
    if (fd >= 0) close(fd);
    session = other.session;
    epoch = other.epoch;
    lane = other.lane;
    fd = other.Release();
  }
  return *this;
}

DataConnection::~DataConnection() {
  if (fd >= 0) close(fd);
}

int DataConnection::Release() { return std::exchange(fd, -1); }

absl::StatusOr<DataConnection> DialData(const std::string& address,
                                        const crypto::SessionId& session,
                                        const crypto::SecretBytes& session_secret,
                                        const crypto::EpochId& epoch, uint16_t lane,
                                        const SocketOptions& socket, absl::Time wall_deadline) {
  const base::SteadyTime deadline = base::ToSteady(wall_deadline);
  auto failed = [&](absl::string_view what, const absl::Status& why) {
    return absl::Status(why.code(), absl::StrCat("data connection to ", address, ", lane ", lane,
                                                 ": ", what, ": ", why.message()));
  };
  auto fd = base::Connect(address, deadline, -1, [&](int s) { Configure(s, socket); });
  if (!fd.ok()) return fd.status();

  crypto::ConnectionId id;
  id.session = session;
  id.epoch = epoch;
  id.lane = lane;
  auto nonce = RandomNonce();
  if (!nonce.ok()) return nonce.status();
  id.dialler_nonce = *nonce;
  if (auto s = base::WriteAll(fd->get(), EncodeHello(id), deadline); !s.ok()) {
    return failed("sending the preamble", s);
  }
  if (auto s = base::ReadAll(fd->get(), absl::MakeSpan(id.acceptor_nonce), deadline); !s.ok()) {
    return failed("waiting for the other side's nonce (it may not know the session or epoch yet)",
                  s);
  }
  auto own = Confirm(session_secret, id, Direction::kFromDialler);
  if (!own.ok()) return own.status();
  if (auto s = base::WriteAll(fd->get(), *own, deadline); !s.ok()) {
    return failed("sending the confirmation", s);
  }
  Confirmation theirs;
  if (auto s = base::ReadAll(fd->get(), absl::MakeSpan(theirs), deadline); !s.ok()) {
    // It spoke, so it knows the session: it refused what we confirmed.
    if (absl::IsUnavailable(s)) {
      return failed("the other side refused our confirmation",
                    absl::PermissionDeniedError(s.message()));
    }
    return failed("waiting for the confirmation", s);
  }
  if (auto s = CheckConfirmation(session_secret, id, Direction::kFromAcceptor, theirs); !s.ok()) {
    return failed("checking the confirmation", s);
  }
  DataConnection connection;
  connection.fd = fd->Release();
  connection.session = session;
  connection.epoch = epoch;
  connection.lane = lane;
  return connection;
}

}  // namespace caravan::transport
