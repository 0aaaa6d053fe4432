// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/identity.h"

#include <openssl/asn1.h>
#include <openssl/crypto.h>
#include <openssl/objects.h>
#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

// The library takes these from the heap: for each thread, and a connection has one of its own, the
// state of two random generators of 256 bytes; for each handshake an X25519 key in the smallest
// allotment.
constexpr size_t kSmallestAllotment = 32;
constexpr size_t kHeapForConnection = 2 * 256 + 2 * kSmallestAllotment;
// Other threads' generators, and the identities.
constexpr size_t kHeapForOthers = 256 << 10;
constexpr long kLifetimeSeconds = 10L * 365 * 86400;
constexpr std::string_view kSpkiPrefix("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);

absl::Status LockHeap(size_t connections) {
  static std::mutex mutex;
  static size_t locked = 0;
  // The library wants a power of two.
  const size_t wanted = std::bit_ceil(kHeapForOthers + connections * kHeapForConnection);
  std::lock_guard<std::mutex> lock(mutex);
  if (locked >= wanted) return absl::OkStatus();
  if (CRYPTO_secure_malloc_initialized() != 0) {
    return absl::FailedPreconditionError(absl::StrCat("the process has locked ", locked,
                                                      " bytes of memory for keys, and ",
                                                      connections, " connections need ", wanted));
  }
  // 2 means that the heap exists but may be swapped: not good enough for a private key.
  const int result = CRYPTO_secure_malloc_init(wanted, kSmallestAllotment);
  if (result == 1) {
    locked = wanted;
    return absl::OkStatus();
  }
  if (result == 2) CRYPTO_secure_malloc_done();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot lock ", wanted, " bytes of memory for the keys of ", connections,
                   " connections: raise RLIMIT_MEMLOCK (systemd: LimitMEMLOCK=)"));
}

std::string Spki(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return "";
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool FillCertificate(X509* certificate, EVP_PKEY* key) {
  uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) return false;
  serial >>= 1;  // a serial number is positive (RFC 5280, 4.1.2.2)
  X509_NAME* name = X509_get_subject_name(certificate);
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>("caravan node"), -1, -1,
                                    0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kLifetimeSeconds) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, nullptr) > 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Identity>> Identity::Create(size_t connections) {
  // Never less than the usual: other identities of this process may want that.
  const size_t room = std::max(connections, kDefaultConnections);
  if (absl::Status locked = LockHeap(room); !locked.ok()) return locked;
  auto identity = std::unique_ptr<Identity>(new Identity());
  identity->key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  identity->certificate_.reset(X509_new());
  if (identity->key_ == nullptr || identity->certificate_ == nullptr ||
      !FillCertificate(identity->certificate_.get(), identity->key_.get())) {
    return absl::InternalError("cannot make the node's Ed25519 key and certificate");
  }
  // The node holds itself to what it asks of peers.
  absl::StatusOr<std::string> spki = CheckPeerCertificate(identity->certificate_.get());
  if (!spki.ok()) return spki.status();
  identity->spki_ = *std::move(spki);
  identity->spki_hash_ = crypto::Sha256(crypto::AsBytes(identity->spki_));
  return identity;
}

absl::StatusOr<std::string> CheckPeerCertificate(X509* certificate) {
  EVP_PKEY* key = X509_get0_pubkey(certificate);
  if (key == nullptr || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519) {
    return Refusal(absl::StatusCode::kPermissionDenied, kTlsCertificateKey,
                   absl::StrCat("certificate holds a key of type ",
                                key == nullptr ? "unknown" : OBJ_nid2sn(EVP_PKEY_get_id(key)),
                                ", expected ED25519"));
  }
  std::string spki = Spki(certificate);
  if (spki.size() != kSpkiSize || spki.substr(0, kSpkiPrefix.size()) != kSpkiPrefix) {
    return Refusal(absl::StatusCode::kPermissionDenied, kTlsCertificateKey,
                   "certificate encodes its ED25519 key in another way than RFC 8410's");
  }
  if (X509_get_signature_nid(certificate) != NID_ED25519 || X509_verify(certificate, key) != 1) {
    return Refusal(absl::StatusCode::kPermissionDenied, kTlsCertificateSignature,
                   "certificate is not signed by its own ED25519 key");
  }
  return spki;
}

}  // namespace caravan::session
