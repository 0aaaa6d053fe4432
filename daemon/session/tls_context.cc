// SPDX-License-Identifier: Apache-2.0
//
// The settings of layer 1 (docs/protocol.md, "Handshake"); each has its test.
#include <openssl/err.h>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"
#include "daemon/session/tls_channel.h"

namespace caravan::session {
namespace {

absl::Status Setting(absl::string_view what) {
  char text[128];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("tls setting refused: ", what, ": ", text));
}

// An unknown name fails a whole list, so each group is asked for alone.
std::string SupportedGroups(SSL_CTX* context) {
  std::string groups;
  for (const char* group : {"X25519MLKEM768", "X25519"}) {
    if (SSL_CTX_set1_groups_list(context, group) != 1) continue;
    absl::StrAppend(&groups, groups.empty() ? "" : ":", group);
  }
  ERR_clear_error();
  return groups;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Create(const Identity& identity) {
  auto context = std::unique_ptr<TlsContext>(new TlsContext(identity));
  context->context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* ctx = context->context_.get();
  if (ctx == nullptr) return Setting("context");
  if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1) {
    return Setting("version 1.3");
  }
  if (SSL_CTX_set_ciphersuites(ctx, "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") != 1) {
    return Setting("cipher suites");
  }
  if (SSL_CTX_set1_sigalgs_list(ctx, "ed25519") != 1 ||
      SSL_CTX_set1_client_sigalgs_list(ctx, "ed25519") != 1) {
    return Setting("signature algorithm ed25519");
  }
  const std::string groups = SupportedGroups(ctx);
  if (groups.empty() || SSL_CTX_set1_groups_list(ctx, groups.c_str()) != 1) {
    return Setting("group X25519");
  }
  if (SSL_CTX_use_certificate(ctx, identity.certificate()) != 1 ||
      SSL_CTX_use_PrivateKey(ctx, identity.key()) != 1) {
    return Setting("the node's certificate");
  }
  // VERIFY_PEER alone admits a client without a certificate; a self-signed one fails the default
  // check.
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(ctx, &TlsChannel::VerifyCertificate, nullptr);
  SSL_CTX_set_max_cert_list(ctx, kMaxCertificateList);
  // NO_TICKET alone still sends stateful tickets.
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  if (SSL_CTX_set_num_tickets(ctx, 0) != 1) return Setting("no tickets");
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_max_early_data(ctx, 0) != 1 || SSL_CTX_set_recv_max_early_data(ctx, 0) != 1) {
    return Setting("no early data");
  }
  SSL_CTX_set_client_hello_cb(ctx, &TlsChannel::InspectClientHello, nullptr);
  const std::string alpn =
      absl::StrCat(std::string(1, static_cast<char>(kAlpn.size())), std::string(kAlpn));
  // This one returns 0 for success.
  if (SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(alpn.data()),
                              static_cast<unsigned>(alpn.size())) != 0) {
    return Setting("alpn");
  }
  SSL_CTX_set_alpn_select_cb(ctx, &TlsChannel::SelectAlpn, nullptr);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  return context;
}

}  // namespace caravan::session
