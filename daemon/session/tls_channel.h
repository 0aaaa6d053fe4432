// SPDX-License-Identifier: Apache-2.0
//
// Layer 1 of the handshake: a TLS 1.3 channel (RFC 8446) over memory, bytes in and bytes out.
// Both ends show an Ed25519 certificate that they signed themselves; the channel says which keys
// met, nothing about whose they are.
#ifndef CARAVAN_DAEMON_SESSION_TLS_CHANNEL_H_
#define CARAVAN_DAEMON_SESSION_TLS_CHANNEL_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "daemon/session/identity.h"

namespace caravan::session {

inline constexpr std::string_view kAlpn = "caravan/1";
inline constexpr size_t kMaxCertificateList = 16384;  // bytes

struct SslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// The settings of every channel of a node. Immutable, thread-safe.
class TlsContext {
 public:
  // `identity` outlives the context. Internal when the library refuses a setting.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Create(const Identity& identity);

  SSL_CTX* get() const { return context_.get(); }
  const Identity& identity() const { return identity_; }

 private:
  explicit TlsContext(const Identity& identity) : identity_(identity) {}

  const Identity& identity_;
  std::unique_ptr<SSL_CTX, SslDeleter> context_;
};

// One channel. Not thread-safe: one thread owns it. The first error is final; what is pending
// then is the alert that tells the peer.
class TlsChannel {
 public:
  // `context` outlives the channel. The initiator is the TLS client.
  static absl::StatusOr<std::unique_ptr<TlsChannel>> Create(const TlsContext& context,
                                                            crypto::Role role);

  // Bytes from the network; kept until Advance() and Read() take them.
  absl::Status Feed(absl::Span<const uint8_t> bytes);
  // Runs the TLS handshake as far as the bytes allow. PermissionDenied or InvalidArgument, with a
  // reason TLS_…, when the peer does not fit.
  absl::Status Advance();
  // Both Finished messages have been seen here: certificate, exporter and data can be used.
  bool established() const { return established_; }

  // Up to out.size() bytes of plaintext; 0 when more bytes are needed. OutOfRange once the peer
  // said goodbye (close_notify). FailedPrecondition before established(), as for Write().
  absl::StatusOr<size_t> Read(absl::Span<uint8_t> out);
  // Seals all of `bytes`; the caller bounds what it lets pend.
  absl::Status Write(absl::Span<const uint8_t> bytes);
  // Says goodbye. Best effort.
  void Shutdown();

  // Bytes for the network, and how many of them went out.
  absl::Span<const uint8_t> pending() const;
  void Consume(size_t size);

  // TLS-Exporter (RFC 8446, 7.5). FailedPrecondition before established().
  absl::StatusOr<crypto::SecretBytes> Export(std::string_view label,
                                             absl::Span<const uint8_t> context, size_t size) const;
  // DER; empty before established().
  const std::string& peer_spki() const { return peer_spki_; }
  // "TLS_AES_256_GCM_SHA384 X25519"; for logs and tests.
  std::string Describe() const;

 private:
  friend class TlsContext;
  explicit TlsChannel(crypto::Role role) : role_(role) {}

  static int VerifyCertificate(X509_STORE_CTX* store, void* unused);
  static int SelectAlpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                        const unsigned char* in, unsigned int in_size, void* unused);
  static int InspectClientHello(SSL* ssl, int* alert, void* unused);
  absl::Status Finish();
  absl::Status Failure(absl::string_view doing);

  const crypto::Role role_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  BIO* in_ = nullptr;   // owned by ssl_
  BIO* out_ = nullptr;  // owned by ssl_
  bool established_ = false;
  absl::Status refusal_;  // what a callback found wrong with the peer
  absl::Status status_;
  std::string peer_spki_;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_TLS_CHANNEL_H_
