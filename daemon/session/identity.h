// SPDX-License-Identifier: Apache-2.0
//
// The node's identity on the control channel: an Ed25519 key and its self-signed certificate,
// made in the process and never written anywhere. Who the key belongs to is for evidence to say.
#ifndef CARAVAN_DAEMON_SESSION_IDENTITY_H_
#define CARAVAN_DAEMON_SESSION_IDENTITY_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "crypto/hash.h"

namespace caravan::session {

struct OpenSslDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslDeleter>;
using CertificatePtr = std::unique_ptr<X509, OpenSslDeleter>;

// DER of an Ed25519 SubjectPublicKeyInfo (RFC 8410): 12 fixed bytes, then the key.
inline constexpr size_t kSpkiSize = 44;

// Connections that an Identity makes room for at least.
inline constexpr size_t kDefaultConnections = 2816;

// Immutable, thread-safe.
class Identity {
 public:
  // A fresh key in OpenSSL's locked heap. Every connection takes a share of that heap, so it is
  // locked with room for `connections` of them at a time, once for the whole process.
  // ResourceExhausted when that much cannot be locked (RLIMIT_MEMLOCK); FailedPrecondition when
  // it has been locked before with less; Internal when the library fails.
  static absl::StatusOr<std::unique_ptr<Identity>> Create(size_t connections = kDefaultConnections);

  X509* certificate() const { return certificate_.get(); }
  EVP_PKEY* key() const { return key_.get(); }
  const std::string& spki() const { return spki_; }  // DER, kSpkiSize bytes
  const crypto::Sha256Digest& spki_hash() const { return spki_hash_; }

 private:
  Identity() = default;

  KeyPtr key_;
  CertificatePtr certificate_;
  std::string spki_;
  crypto::Sha256Digest spki_hash_{};
};

// The peer's SPKI when `certificate` is one that this protocol takes: an Ed25519 key in its one
// canonical encoding, signed by itself. PermissionDenied with reason TLS_CERTIFICATE_KEY or
// TLS_CERTIFICATE_SIGNATURE otherwise. Validity times and names are not looked at: the key alone
// is the identity, and it does not outlive its process.
absl::StatusOr<std::string> CheckPeerCertificate(X509* certificate);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_IDENTITY_H_
