// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/raw_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "crypto/hash.h"
#include "daemon/session/handshake_testing.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

std::string SpkiOf(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  std::string out(reinterpret_cast<char*>(der), size > 0 ? static_cast<size_t>(size) : 0);
  OPENSSL_free(der);
  return out;
}

KeyPtr MakeKey(RawCertificate kind) {
  if (kind == RawCertificate::kRsa) return KeyPtr(EVP_RSA_gen(2048));
  if (kind == RawCertificate::kEcdsa) return KeyPtr(EVP_EC_gen("P-256"));
  return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
}

// A session with a made-up secret, as a client that resumes would have from an earlier connection.
int UseForgedSession(SSL* ssl, const EVP_MD* /*md*/, const unsigned char** id, size_t* id_size,
                     SSL_SESSION** out) {
  static const unsigned char kIdentity[] = "ticket";
  const unsigned char secret[48] = {1};
  SSL_SESSION* session = SSL_SESSION_new();
  const unsigned char suite[2] = {0x13, 0x02};  // TLS_AES_256_GCM_SHA384
  SSL_SESSION_set1_master_key(session, secret, sizeof(secret));
  SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, suite));
  SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
  SSL_SESSION_set_max_early_data(session, 16384);
  const std::string alpn = "caravan/1";
  SSL_SESSION_set1_alpn_selected(session, reinterpret_cast<const unsigned char*>(alpn.data()),
                                 alpn.size());
  *id = kIdentity;
  *id_size = sizeof(kIdentity) - 1;
  *out = session;
  return 1;
}

int AcceptAnything(X509_STORE_CTX* /*store*/, void* /*unused*/) { return 1; }

}  // namespace

CertificatePtr MakeCertificateForTest(RawCertificate kind, KeyPtr* key) {
  *key = MakeKey(kind);
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), 7);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("caravan node"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key->get());
  if (kind == RawCertificate::kHuge) {
    const std::string comment(20 << 10, 'x');
    X509_EXTENSION* extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_netscape_comment, comment.c_str());
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  const bool digest = kind == RawCertificate::kRsa || kind == RawCertificate::kEcdsa;
  KeyPtr foreign;
  if (kind == RawCertificate::kForeignSigner) foreign = MakeKey(RawCertificate::kGood);
  X509_sign(certificate.get(), foreign != nullptr ? foreign.get() : key->get(),
            digest ? EVP_sha256() : nullptr);
  return certificate;
}

RawPeer::RawPeer(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  server_ = false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    socket_.Reset();
  }
  const timeval limit{5, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool RawPeer::SendBytes(std::string_view bytes) {
  return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool RawPeer::HasAnswer() {
  constexpr uint8_t kAlert = 21;  // RFC 8446, 5.1
  uint8_t type = 0;
  return recv(socket_.get(), &type, 1, MSG_PEEK) == 1 && type != kAlert;
}

bool RawPeer::WaitClosed() {
  char bytes[4096];
  while (true) {
    const ssize_t got = recv(socket_.get(), bytes, sizeof(bytes), 0);
    if (got == 0) return true;
    if (got < 0) return errno == ECONNRESET || errno == EPIPE;
  }
}

void RawPeer::TakeIdentity(const RawPeer& other) {
  EVP_PKEY_up_ref(other.key_.get());
  key_.reset(other.key_.get());
  X509_up_ref(other.certificate_.get());
  certificate_.reset(other.certificate_.get());
}

bool RawPeer::StartTls(const RawOptions& options) {
  context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* ctx = context_.get();
  SSL_CTX_set_max_proto_version(ctx, options.max_version);
  SSL_CTX_set_ciphersuites(ctx, options.ciphersuites.c_str());
  SSL_CTX_set1_groups_list(ctx, options.groups.c_str());
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(ctx, AcceptAnything, nullptr);
  const std::string alpn =
      absl::StrCat(std::string(1, static_cast<char>(options.alpn.size())), options.alpn);
  if (!options.alpn.empty()) {
    SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(alpn.data()),
                            static_cast<unsigned>(alpn.size()));
    SSL_CTX_set_alpn_select_cb(
        ctx,
        [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
           unsigned int, void*) {
          *out = in + 1;
          *size = in[0];
          return SSL_TLSEXT_ERR_OK;
        },
        nullptr);
  }
  if (options.certificate != RawCertificate::kNone) {
    if (certificate_ == nullptr) {
      certificate_ = MakeCertificateForTest(options.certificate, &key_);
    }
    SSL_CTX_use_certificate(ctx, certificate_.get());
    SSL_CTX_use_PrivateKey(ctx, key_.get());
    if (options.certificate == RawCertificate::kTwo) {
      KeyPtr other;
      SSL_CTX_add1_chain_cert(ctx, MakeCertificateForTest(RawCertificate::kGood, &other).get());
    }
  }
  if (options.resume || options.early_data) {
    SSL_CTX_set_psk_use_session_callback(ctx, UseForgedSession);
  }
  ssl_.reset(SSL_new(ctx));
  SSL_set_fd(ssl_.get(), socket_.get());
  ERR_clear_error();
  if (server_) return SSL_accept(ssl_.get()) == 1;
  SSL_set_connect_state(ssl_.get());
  if (options.early_data) {
    size_t written = 0;
    SSL_write_early_data(ssl_.get(), "early", 5, &written);
  }
  return SSL_connect(ssl_.get()) == 1;
}

bool RawPeer::Write(std::string_view plaintext) {
  size_t written = 0;
  return SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &written) == 1;
}

bool RawPeer::WriteMessage(std::string_view message) {
  std::string out;
  AppendControlFrames(crypto::AsBytes(message), &out);
  return Write(out);
}

bool RawPeer::ReadPlaintext() {
  std::string bytes(16384, '\0');
  size_t size = 0;
  if (SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &size) != 1) return false;
  frames_.Feed(crypto::AsBytes(std::string_view(bytes).substr(0, size)));
  return true;
}

std::string RawPeer::ReadMessage() {
  while (true) {
    absl::StatusOr<std::optional<std::string>> message = messages_.Next();
    if (!message.ok()) return "";
    if (message->has_value()) return **message;
    absl::StatusOr<std::optional<Frame>> frame = frames_.Next();
    if (!frame.ok()) return "";
    if (frame->has_value()) {
      if ((*frame)->stream == kControlStream) messages_.Feed((*frame)->payload);
    } else if (!ReadPlaintext()) {
      return "";
    }
  }
}

std::string RawPeer::ReadAlert() {
  while (true) {
    const std::string message = ReadMessage();
    if (message.empty()) return "";
    absl::StatusOr<Alert> alert = DecodeAlert(crypto::AsBytes(message));
    if (alert.ok()) return alert->reason;
  }
}

bool RawPeer::RunHandshake(attestation::Attester& attester, std::optional<MessageType> until,
                           std::string* held) {
  CertificatePtr peer(SSL_get1_peer_certificate(ssl_.get()));
  if (peer == nullptr) return false;
  HandshakeOptions options;
  options.role = server_ ? crypto::Role::kResponder : crypto::Role::kInitiator;
  options.local_spki = SpkiOf(certificate_.get());
  options.peer_spki = SpkiOf(peer.get());
  options.policy_digest = FakeAppraiser().PolicyDigest();
  options.random = [](absl::Span<uint8_t> out) {
    RAND_bytes(out.data(), static_cast<int>(out.size()));
    return absl::OkStatus();
  };
  options.exporter = [this](std::string_view label, absl::Span<const uint8_t> context,
                            size_t size) -> absl::StatusOr<crypto::SecretBytes> {
    absl::StatusOr<crypto::SecretBytes> out = crypto::SecretBytes::Zero(size);
    if (!out.ok()) return out.status();
    SSL_export_keying_material(ssl_.get(), out->ExposeMutable().data(), size, label.data(),
                               label.size(), context.data(), context.size(), 1);
    return out;
  };
  handshake_ = std::move(*Handshake::Create(std::move(options)));
  handshake_->Start().IgnoreError();
  const FakeAppraiser appraiser;
  while (true) {
    for (const std::string& message : handshake_->TakeOutput()) {
      if (until.has_value() && *TypeOf(crypto::AsBytes(message)) == *until) {
        if (held != nullptr) *held = message;
        return true;
      }
      if (!WriteMessage(message)) return false;
    }
    if (handshake_->established()) return true;
    const std::string message = ReadMessage();
    if (message.empty() || !handshake_->OnMessage(crypto::AsBytes(message)).ok() ||
        !ServeForTest(*handshake_, attester, appraiser).ok()) {
      return false;
    }
  }
}

}  // namespace caravan::session
