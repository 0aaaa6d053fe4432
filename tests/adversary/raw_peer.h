// SPDX-License-Identifier: Apache-2.0
//
// A peer that does as the test says: TLS with whatever settings, frames with whatever content, and
// a real handshake as far as it serves the attack. Blocking, with a time limit on each wait.
#ifndef CARAVAN_TESTS_ADVERSARY_RAW_PEER_H_
#define CARAVAN_TESTS_ADVERSARY_RAW_PEER_H_

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "daemon/session/frames.h"
#include "daemon/session/handshake.h"
#include "daemon/session/identity.h"
#include "daemon/session/messages.h"
#include "daemon/session/session_testing.h"
#include "daemon/session/tls_channel.h"

namespace caravan::session {

enum class RawCertificate {
  kGood,  // Ed25519, signed by itself
  kNone,
  kRsa,            // RSA-2048, signed by itself
  kEcdsa,          // P-256, signed by itself
  kForeignSigner,  // Ed25519, signed by another key
  kTwo,            // a good one and another one behind it
  kHuge,           // a good one with a comment of 20 KiB
};

struct RawOptions {
  int max_version = TLS1_3_VERSION;
  std::string alpn = "caravan/1";  // empty: none
  RawCertificate certificate = RawCertificate::kGood;
  bool resume = false;      // a session that the other side never gave
  bool early_data = false;  // the same, with data at once
  std::string ciphersuites = "TLS_AES_256_GCM_SHA384";
  std::string groups = "X25519";
};

CertificatePtr MakeCertificateForTest(RawCertificate kind, KeyPtr* key);

class RawPeer {
 public:
  // Connects to 127.0.0.1:port; no TLS yet. As a server: takes a connected socket.
  explicit RawPeer(int port);
  explicit RawPeer(base::Descriptor socket) : socket_(std::move(socket)) {}

  bool SendBytes(std::string_view bytes);
  // Whether a byte that is no TLS alert waits, without taking it: the other side goes on.
  bool HasAnswer();
  // True once the other side has closed.
  bool WaitClosed();

  // Shows the certificate of `other`, as the same node would.
  void TakeIdentity(const RawPeer& other);
  // TLS as the client, or, with a socket given, as the server. False when it failed here.
  bool StartTls(const RawOptions& options);
  bool Write(std::string_view plaintext);
  bool WriteMessage(std::string_view message);
  // The next whole control message, or "" when there is none in time.
  std::string ReadMessage();
  // The reason of the next alert message, or "".
  std::string ReadAlert();

  bool UpdateKeys() { return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1; }

  // The real handshake with genuine evidence; with `until` set it stops before sending that type,
  // which goes to `held` instead.
  bool RunHandshake(attestation::Attester& attester,
                    std::optional<MessageType> until = std::nullopt, std::string* held = nullptr);
  Handshake& handshake() { return *handshake_; }

 private:
  bool ReadPlaintext();

  base::Descriptor socket_;
  bool server_ = true;
  KeyPtr key_;
  CertificatePtr certificate_;
  std::unique_ptr<SSL_CTX, SslDeleter> context_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  FrameReader frames_;
  MessageReader messages_;
  std::unique_ptr<Handshake> handshake_;
};

}  // namespace caravan::session

#endif  // CARAVAN_TESTS_ADVERSARY_RAW_PEER_H_
