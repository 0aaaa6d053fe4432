// SPDX-License-Identifier: Apache-2.0
//
// Data connections ("lanes"): TCP connections that carry sealed records of one epoch between two
// nodes. Each begins with an authenticated preamble (docs/protocol.md, "A data connection").
// A lane belongs to one epoch, so a waiting communicator never holds up another.
#ifndef CARAVAN_DAEMON_TRANSPORT_DATA_CONNECTION_H_
#define CARAVAN_DAEMON_TRANSPORT_DATA_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"

namespace caravan::transport {

// An authenticated connection. Owns the descriptor: non-blocking, TCP_NODELAY.
struct DataConnection {
  int fd = -1;
  crypto::SessionId session{};
  crypto::EpochId epoch{};
  uint16_t lane = 0;

  DataConnection() = default;
  DataConnection(DataConnection&& other) noexcept;
  DataConnection& operator=(DataConnection&& other) noexcept;
  ~DataConnection();
  int Release();  // gives the descriptor away
};

struct SocketOptions {
  int send_buffer = 0;     // SO_SNDBUF bytes, 0: the kernel's choice
  int receive_buffer = 0;  // SO_RCVBUF bytes
  // TCP_CONGESTION, empty: the system's choice. An algorithm that paces (BBR) arms a timer for each
  // burst, which serves long paths and costs time within one data centre. A kernel that does not
  // have it, or does not allow it, keeps its own.
  std::string congestion_control = "cubic";
};

// Dials `address`, runs the preamble, returns when both sides are confirmed. Unavailable: no
// connection, or the other side does not know the session or epoch yet (may be tried again).
// PermissionDenied: a confirmation that does not verify. DeadlineExceeded.
absl::StatusOr<DataConnection> DialData(const std::string& address,
                                        const crypto::SessionId& session,
                                        const crypto::SecretBytes& session_secret,
                                        const crypto::EpochId& epoch, uint16_t lane,
                                        const SocketOptions& socket, absl::Time deadline);

// Accepts data connections on one port, on a thread of its own.
class DataListener {
 public:
  struct Options {
    std::string listen_address;  // port 0 picks one
    SocketOptions socket;
    absl::Duration preamble_timeout = absl::Seconds(5);
    // Connections in their preamble, in all and from one address; more are closed at once.
    int max_half_open = 256;
    int max_half_open_per_source = 64;
    // All three are required, and called on the listener's thread.
    // The secret of an open session, or empty: then the connection is closed quietly.
    std::function<crypto::SecretBytes(const crypto::SessionId&)> find_secret;
    // False: the epoch is not known (yet), and the connection is closed quietly before
    // the acceptor says anything, so that the dialler may try again.
    std::function<bool(const crypto::SessionId&, const crypto::EpochId&)> knows_epoch;
    // Takes the connection, or drops it when the epoch is not known (any more).
    std::function<void(DataConnection)> on_connection;
  };
  // InvalidArgument where a function is missing; the address' errors else.
  static absl::StatusOr<std::unique_ptr<DataListener>> Start(Options options);
  virtual ~DataListener() = default;
  virtual int port() const = 0;
  // Connections in their preamble now; refused so far, whatever the reason.
  virtual int half_open() const = 0;
  virtual uint64_t refused() const = 0;
  // Closes what is half-open and joins the thread. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace caravan::transport

#endif  // CARAVAN_DAEMON_TRANSPORT_DATA_CONNECTION_H_
