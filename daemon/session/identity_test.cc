// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/identity.h"

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>

#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

CertificatePtr Certificate(EVP_PKEY* key, EVP_PKEY* signer, const EVP_MD* digest) {
  CertificatePtr certificate(X509_new());
  X509_set_pubkey(certificate.get(), key);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 60);
  EXPECT_GT(X509_sign(certificate.get(), signer, digest), 0);
  return certificate;
}

KeyPtr Ed25519() { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

TEST(Identity, EachIsItsOwnAndPassesItsOwnCheck) {
  auto one = Identity::Create();
  auto two = Identity::Create();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ((*one)->spki().size(), kSpkiSize);
  EXPECT_NE((*one)->spki(), (*two)->spki());
  EXPECT_EQ((*one)->spki_hash(), crypto::Sha256(crypto::AsBytes((*one)->spki())));
  EXPECT_EQ(*CheckPeerCertificate((*one)->certificate()), (*one)->spki());
}

TEST(Identity, TheKeyIsInLockedMemory) {
  const size_t before = CRYPTO_secure_used();
  auto identity = Identity::Create();
  ASSERT_TRUE(identity.ok());
  EXPECT_GT(CRYPTO_secure_used(), before);
}

TEST(PeerCertificate, RefusesEveryOtherKindOfKey) {
  KeyPtr rsa(EVP_RSA_gen(2048)), ecdsa(EVP_EC_gen("P-256"));
  for (EVP_PKEY* key : {rsa.get(), ecdsa.get()}) {
    absl::Status status = CheckPeerCertificate(Certificate(key, key, EVP_sha256()).get()).status();
    EXPECT_EQ(ReasonOf(status), kTlsCertificateKey) << status;
  }
  KeyPtr ed448(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448"));
  EXPECT_EQ(
      ReasonOf(CheckPeerCertificate(Certificate(ed448.get(), ed448.get(), nullptr).get()).status()),
      kTlsCertificateKey);
}

TEST(PeerCertificate, RefusesAnotherSigner) {
  KeyPtr key = Ed25519(), signer = Ed25519(), rsa(EVP_RSA_gen(2048));
  EXPECT_EQ(
      ReasonOf(CheckPeerCertificate(Certificate(key.get(), signer.get(), nullptr).get()).status()),
      kTlsCertificateSignature);
  EXPECT_EQ(
      ReasonOf(
          CheckPeerCertificate(Certificate(key.get(), rsa.get(), EVP_sha256()).get()).status()),
      kTlsCertificateSignature);
}

TEST(PeerCertificate, RefusesAFlippedSignature) {
  KeyPtr key = Ed25519();
  CertificatePtr certificate = Certificate(key.get(), key.get(), nullptr);
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate.get(), &der);
  ASSERT_GT(size, 0);
  der[size - 1] ^= 1;
  const unsigned char* at = der;
  CertificatePtr flipped(d2i_X509(nullptr, &at, size));
  OPENSSL_free(der);
  ASSERT_NE(flipped, nullptr);
  EXPECT_EQ(ReasonOf(CheckPeerCertificate(flipped.get()).status()), kTlsCertificateSignature);
}

}  // namespace
}  // namespace caravan::session
