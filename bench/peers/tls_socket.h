// SPDX-License-Identifier: Apache-2.0
//
// A non-blocking TLS 1.3 connection over loopback TCP, for the comparison ring only: both ends
// accept any certificate, so it protects against nobody.
#ifndef CARAVAN_BENCH_PEERS_TLS_SOCKET_H_
#define CARAVAN_BENCH_PEERS_TLS_SOCKET_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::bench {

class TlsSocket {
 public:
  // Takes the connected `fd` and blocks in the handshake.
  static absl::StatusOr<std::unique_ptr<TlsSocket>> Handshake(int fd, bool server);
  ~TlsSocket();

  // Bytes moved, 0 when the socket is not ready. Unavailable when the connection is gone.
  absl::StatusOr<size_t> Write(const uint8_t* data, size_t size);
  absl::StatusOr<size_t> Read(uint8_t* data, size_t size);

  int fd() const { return fd_; }
  // What poll() must wait for before the last Write() or Read() that moved nothing can go on.
  short wanted() const { return wanted_; }

 private:
  TlsSocket(int fd, SSL_CTX* context, SSL* ssl) : fd_(fd), context_(context), ssl_(ssl) {}
  absl::StatusOr<size_t> Settle(int result, size_t moved);

  int fd_;
  SSL_CTX* context_;
  SSL* ssl_;
  short wanted_ = 0;
};

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_PEERS_TLS_SOCKET_H_
