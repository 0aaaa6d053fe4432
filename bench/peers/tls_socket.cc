// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/tls_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace caravan::bench {
namespace {

absl::Status TlsError(const char* what) {
  char text[256] = "no detail";
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return absl::UnavailableError(absl::StrCat(what, ": ", text));
}

// A self-signed Ed25519 certificate, made now.
bool UseFreshCertificate(SSL_CTX* context) {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  X509* certificate = X509_new();
  bool ok = key != nullptr && certificate != nullptr;
  if (ok) {
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    ok = X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, nullptr) > 0 &&
         SSL_CTX_use_certificate(context, certificate) == 1 &&
         SSL_CTX_use_PrivateKey(context, key) == 1;
  }
  X509_free(certificate);
  EVP_PKEY_free(key);
  return ok;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsSocket>> TlsSocket::Handshake(int fd, bool server) {
  SSL_CTX* context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384");
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Room for several records a read() call: fewer system calls for the peer that we compare with.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 128 * 1024);
  const bool certified = !server || UseFreshCertificate(context);
  SSL* ssl = SSL_new(context);
  std::unique_ptr<TlsSocket> socket(new TlsSocket(fd, context, ssl));
  if (!certified) return TlsError("cannot make a certificate");
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (SSL_set_fd(ssl, fd) != 1) return TlsError("cannot attach the socket");
  const int done = server ? SSL_accept(ssl) : SSL_connect(ssl);
  if (done != 1) return TlsError("tls handshake failed");
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make the socket non-blocking");
  }
  return socket;
}

TlsSocket::~TlsSocket() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
  close(fd_);
}

absl::StatusOr<size_t> TlsSocket::Write(const uint8_t* data, size_t size) {
  size_t moved = 0;
  const int result = SSL_write_ex(ssl_, data, size, &moved);
  return Settle(result, moved);
}

absl::StatusOr<size_t> TlsSocket::Read(uint8_t* data, size_t size) {
  size_t moved = 0;
  const int result = SSL_read_ex(ssl_, data, size, &moved);
  return Settle(result, moved);
}

absl::StatusOr<size_t> TlsSocket::Settle(int result, size_t moved) {
  wanted_ = 0;
  if (result == 1) return moved;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      wanted_ = POLLIN;
      return 0;
    case SSL_ERROR_WANT_WRITE:
      wanted_ = POLLOUT;
      return 0;
    default:
      return TlsError("tls connection lost");
  }
}

}  // namespace caravan::bench
