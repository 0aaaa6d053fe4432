// SPDX-License-Identifier: Apache-2.0
//
// X.509 certificates and revocation lists as verifiers need them (RFC 5280): one signature at a
// time against one key, at a given time; no store, no default paths, no clock.
#ifndef CARAVAN_ATTESTATION_X509_H_
#define CARAVAN_ATTESTATION_X509_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/known_signatures.h"
#include "attestation/openssl.h"
#include "crypto/hash.h"

namespace caravan::attestation {

// Every name of a software stand-in's chain begins with this.
inline constexpr std::string_view kInsecureNamePrefix = "insecure ";
// Largest revocation list taken, in bytes of DER.
inline constexpr size_t kMaxCrlSize = 1 << 20;

// Which signatures a vendor's chain may carry.
enum class SignatureSuite {
  kSha384,           // AMD: RSA-PSS or ECDSA over SHA-384
  kEcdsaP256Sha256,  // Intel: ECDSA over SHA-256 by a key on P-256
};

// Immutable; copies share the parsed object.
class Certificate {
 public:
  // InvalidArgument on anything but one whole DER certificate of at most kMaxCertificateSize.
  static absl::StatusOr<Certificate> Parse(std::string_view der);

  const std::string& der() const { return der_; }
  std::string SubjectCommonName() const;  // "" when there is none or more than one
  std::string Describe() const;           // "SEV-Milan (serial 010001)"
  std::string SerialHex() const;
  crypto::Sha256Digest SpkiSha256() const;
  bool IsIssuedInNameOf(const Certificate& issuer) const;
  bool IsSelfIssued() const;

  // The value of the extension with this dotted OID, as it stands inside its OCTET STRING.
  // nullopt when absent; InvalidArgument when present twice.
  absl::StatusOr<std::optional<std::string>> Extension(const char* oid) const;

  // OK when `now` lies in the validity period; OutOfRange with the period otherwise.
  absl::Status CheckValidity(absl::Time now) const;
  absl::Time not_after() const;  // the past when it cannot be read
  // OK when basicConstraints says CA with room for `below` further CAs, and keyUsage allows
  // keyCertSign.
  absl::Status CheckIsCa(int below) const;
  // OK when it may not sign certificates.
  absl::Status CheckIsEndEntity() const;
  // InvalidArgument naming a critical extension that nobody here understands.
  absl::Status CheckCriticalExtensions() const;
  // OK when `issuer`'s key signed this with an algorithm of `suite`.
  absl::Status CheckSignedBy(const Certificate& issuer,
                             SignatureSuite suite = SignatureSuite::kSha384,
                             KnownSignatures* known = nullptr) const;

  EVP_PKEY* public_key() const;  // borrowed; null when it cannot be decoded
  X509* get() const { return x509_.get(); }

 private:
  Certificate(std::string der, X509Ptr x509) : der_(std::move(der)), x509_(std::move(x509)) {}

  std::string der_;
  std::shared_ptr<X509> x509_;
};

class Crl {
 public:
  // InvalidArgument on anything but one whole DER revocation list of at most kMaxCrlSize.
  static absl::StatusOr<Crl> Parse(std::string_view der);

  bool IsIssuedInNameOf(const Certificate& issuer) const;
  // As Certificate::CheckSignedBy; `issuer` must be allowed to sign lists. Refuses lists with
  // critical extensions (partitioned, indirect and delta lists prove no absence).
  absl::Status CheckSignedBy(const Certificate& issuer,
                             SignatureSuite suite = SignatureSuite::kSha384) const;
  // OK while thisUpdate <= now <= nextUpdate; OutOfRange otherwise, and without a nextUpdate.
  absl::Status CheckFreshness(absl::Time now) const;
  absl::Time this_update() const;
  absl::Time next_update() const;                      // the past when there is none
  bool Revokes(const Certificate& certificate) const;  // by serial number

 private:
  explicit Crl(X509CrlPtr crl) : crl_(std::move(crl)) {}

  std::shared_ptr<X509_CRL> crl_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_X509_H_
