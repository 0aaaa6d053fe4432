// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/tls_channel.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using absl::StatusCode;

// What the library's error means in this protocol.
absl::string_view ReasonFor(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return kTlsProtocol;
  const int reason = ERR_GET_REASON(error);
  // Alerts that the peer sent are numbered from here (RFC 8446, 6).
  if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) return kTlsPeerAlert;
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_HTTP_REQUEST:
      return kTlsVersion;
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return kTlsAlpn;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return kTlsNoCertificate;
    case SSL_R_EXCESSIVE_MESSAGE_SIZE:
      return kTlsMessageSize;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_WRONG_SIGNATURE_TYPE:
      return kTlsParameters;
    default:
      return kTlsProtocol;
  }
}

// Says nothing about the peer: this end ran out of memory or randomness.
bool IsLocal(unsigned long error) {
  return ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE || ERR_GET_LIB(error) == ERR_LIB_RAND;
}

TlsChannel* ChannelOf(SSL* ssl) { return static_cast<TlsChannel*>(SSL_get_app_data(ssl)); }

}  // namespace

absl::StatusOr<std::unique_ptr<TlsChannel>> TlsChannel::Create(const TlsContext& context,
                                                               crypto::Role role) {
  auto channel = std::unique_ptr<TlsChannel>(new TlsChannel(role));
  channel->ssl_.reset(SSL_new(context.get()));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (channel->ssl_ == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return absl::ResourceExhaustedError("no memory for a tls channel");
  }
  // An empty memory BIO means "not yet", not "the end".
  BIO_set_mem_eof_return(in, -1);
  BIO_set_mem_eof_return(out, -1);
  channel->in_ = in;
  channel->out_ = out;
  SSL_set_bio(channel->ssl_.get(), in, out);
  SSL_set_app_data(channel->ssl_.get(), channel.get());
  if (role == crypto::Role::kInitiator) {
    SSL_set_connect_state(channel->ssl_.get());
  } else {
    SSL_set_accept_state(channel->ssl_.get());
  }
  return channel;
}

int TlsChannel::VerifyCertificate(X509_STORE_CTX* store, void* /*unused*/) {
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsChannel* channel = ChannelOf(ssl);
  X509* leaf = X509_STORE_CTX_get0_cert(store);
  const int count = sk_X509_num(X509_STORE_CTX_get0_untrusted(store));
  if (leaf == nullptr || count != 1) {
    channel->refusal_ = Refusal(StatusCode::kPermissionDenied, kTlsCertificateChain,
                                absl::StrCat("peer sent ", count, " certificates, expected 1"));
  } else {
    absl::StatusOr<std::string> spki = CheckPeerCertificate(leaf);
    if (spki.ok()) {
      channel->peer_spki_ = *std::move(spki);
      X509_STORE_CTX_set_error(store, X509_V_OK);
      return 1;
    }
    channel->refusal_ = spki.status();
  }
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

int TlsChannel::SelectAlpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                           const unsigned char* in, unsigned int in_size, void* /*unused*/) {
  for (unsigned int at = 0; at < in_size; at += 1u + in[at]) {
    if (std::string_view(reinterpret_cast<const char*>(in + at + 1), in[at]) == kAlpn) {
      *out = in + at + 1;
      *out_size = in[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  ChannelOf(ssl)->refusal_ = Refusal(StatusCode::kPermissionDenied, kTlsAlpn,
                                     "peer does not offer the protocol caravan/1");
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int TlsChannel::InspectClientHello(SSL* ssl, int* alert, void* /*unused*/) {
  const auto has = [ssl](unsigned int extension) {
    const unsigned char* data = nullptr;
    size_t size = 0;
    return SSL_client_hello_get0_ext(ssl, extension, &data, &size) == 1;
  };
  TlsChannel* channel = ChannelOf(ssl);
  if (has(TLSEXT_TYPE_early_data)) {
    channel->refusal_ = Refusal(StatusCode::kPermissionDenied, kTlsEarlyData,
                                "peer sends early data, which could be replayed");
  } else if (has(TLSEXT_TYPE_psk)) {
    channel->refusal_ = Refusal(StatusCode::kPermissionDenied, kTlsResumption,
                                "peer resumes a session: no ticket was ever given");
  } else if (!has(TLSEXT_TYPE_application_layer_protocol_negotiation)) {
    channel->refusal_ = Refusal(StatusCode::kPermissionDenied, kTlsAlpn,
                                "peer names no protocol, expected caravan/1");
  } else {
    return SSL_CLIENT_HELLO_SUCCESS;
  }
  *alert = SSL_AD_ILLEGAL_PARAMETER;
  return SSL_CLIENT_HELLO_ERROR;
}

absl::Status TlsChannel::Failure(absl::string_view doing) {
  const unsigned long error = ERR_get_error();
  unsigned long local = ERR_GET_REASON(error) == ERR_R_INTERNAL_ERROR ? error : 0;
  // Any entry may name the cause; what the library gave up on because of it comes after.
  for (unsigned long entry = error; entry != 0 && local == 0; entry = ERR_get_error()) {
    if (IsLocal(entry)) local = entry;
  }
  ERR_clear_error();
  if (!refusal_.ok()) {
    status_ = refusal_;
    return status_;
  }
  if (local != 0) {
    const char* text = ERR_reason_error_string(local);
    status_ = Refusal(StatusCode::kResourceExhausted, kTlsLocal,
                      absl::StrCat(doing, ": this node lacks memory or randomness: ",
                                   text != nullptr ? text : "library error"));
    return status_;
  }
  const absl::string_view reason = ReasonFor(error);
  const char* text = ERR_reason_error_string(error);
  status_ =
      Refusal(reason == kTlsProtocol ? StatusCode::kInvalidArgument : StatusCode::kPermissionDenied,
              reason, absl::StrCat(doing, ": ", text != nullptr ? text : "protocol error"));
  return status_;
}

absl::Status TlsChannel::Feed(absl::Span<const uint8_t> bytes) {
  if (!status_.ok()) return status_;
  while (!bytes.empty()) {
    const int wanted = static_cast<int>(
        std::min<size_t>(bytes.size(), static_cast<size_t>(std::numeric_limits<int>::max())));
    const int taken = BIO_write(in_, bytes.data(), wanted);
    if (taken <= 0) {
      status_ = absl::ResourceExhaustedError("no memory for the peer's tls records");
      return status_;
    }
    bytes.remove_prefix(static_cast<size_t>(taken));
  }
  return absl::OkStatus();
}

absl::Status TlsChannel::Advance() {
  if (!status_.ok() || established_) return status_;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Finish();
  const int why = SSL_get_error(ssl_.get(), result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return absl::OkStatus();
  return Failure("tls handshake");
}

absl::Status TlsChannel::Finish() {
  const unsigned char* alpn = nullptr;
  unsigned int alpn_size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &alpn, &alpn_size);
  if (std::string_view(reinterpret_cast<const char*>(alpn), alpn_size) != kAlpn) {
    status_ = Refusal(StatusCode::kPermissionDenied, kTlsAlpn,
                      "peer did not choose the protocol caravan/1");
  } else if (SSL_session_reused(ssl_.get()) != 0) {
    status_ = Refusal(StatusCode::kPermissionDenied, kTlsResumption, "tls session was resumed");
  } else if (peer_spki_.empty()) {
    status_ = Refusal(StatusCode::kPermissionDenied, kTlsNoCertificate, "peer has no certificate");
  } else {
    established_ = SSL_is_init_finished(ssl_.get()) == 1;
  }
  return status_;
}

absl::StatusOr<size_t> TlsChannel::Read(absl::Span<uint8_t> out) {
  if (!status_.ok()) return status_;
  if (!established_) return absl::FailedPreconditionError("tls handshake is not complete");
  ERR_clear_error();
  size_t size = 0;
  const int result = SSL_read_ex(ssl_.get(), out.data(), out.size(), &size);
  if (result == 1) return size;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return 0;
    case SSL_ERROR_ZERO_RETURN:
      return absl::OutOfRangeError("peer closed the channel");
    default:
      return Failure("reading from the tls channel");
  }
}

absl::Status TlsChannel::Write(absl::Span<const uint8_t> bytes) {
  if (!status_.ok()) return status_;
  if (!established_) return absl::FailedPreconditionError("tls handshake is not complete");
  if (bytes.empty()) return absl::OkStatus();
  ERR_clear_error();
  size_t size = 0;
  // A memory BIO takes everything, so the write is whole or failed.
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &size) != 1 || size != bytes.size()) {
    return Failure("writing to the tls channel");
  }
  return absl::OkStatus();
}

void TlsChannel::Shutdown() {
  if (!status_.ok() || !established_) return;
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

absl::Span<const uint8_t> TlsChannel::pending() const {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);
  return {reinterpret_cast<const uint8_t*>(data), size > 0 ? static_cast<size_t>(size) : 0};
}

void TlsChannel::Consume(size_t size) {
  char scratch[4096];
  while (size > 0) {
    const int taken = BIO_read(out_, scratch, static_cast<int>(std::min(size, sizeof(scratch))));
    if (taken <= 0) return;
    size -= static_cast<size_t>(taken);
  }
}

absl::StatusOr<crypto::SecretBytes> TlsChannel::Export(std::string_view label,
                                                       absl::Span<const uint8_t> context,
                                                       size_t size) const {
  if (!established_ || SSL_is_init_finished(ssl_.get()) != 1) {
    return absl::FailedPreconditionError("tls handshake is not complete: nothing is exported");
  }
  absl::StatusOr<crypto::SecretBytes> out = crypto::SecretBytes::Zero(size);
  if (!out.ok()) return out.status();
  if (SSL_export_keying_material(ssl_.get(), out->ExposeMutable().data(), size, label.data(),
                                 label.size(), context.data(), context.size(),
                                 /*use_context=*/1) != 1) {
    ERR_clear_error();
    return absl::InternalError("tls exporter failed");
  }
  return out;
}

std::string TlsChannel::Describe() const {
  const char* group = SSL_group_to_name(ssl_.get(), SSL_get_negotiated_group(ssl_.get()));
  return absl::StrCat(SSL_get_cipher_name(ssl_.get()), " ", group != nullptr ? group : "?");
}

}  // namespace caravan::session
