// SPDX-License-Identifier: Apache-2.0
#include "attestation/x509.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "attestation/evidence.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

std::optional<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm tm{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1) return std::nullopt;
  return absl::FromTM(tm, absl::UTCTimeZone());
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

absl::Status CheckIntelAlgorithm(int signature_nid, EVP_PKEY* key) {
  if (signature_nid != NID_ecdsa_with_SHA256) {
    const char* name = OBJ_nid2sn(signature_nid);
    return absl::UnauthenticatedError(absl::StrCat("signed with ", name == nullptr ? "?" : name,
                                                   ", expected ecdsa with sha-256"));
  }
  if (!IsOnCurve(key, Curve::kP256)) {
    return absl::UnauthenticatedError("the issuer's key is not on P-256");
  }
  return absl::OkStatus();
}

// AMD's chains use RSA-PSS, the stand-in's ECDSA, both SHA-384.
absl::Status CheckAlgorithm(int signature_nid, const X509_ALGOR* algorithm) {
  if (signature_nid == NID_ecdsa_with_SHA384) return absl::OkStatus();
  if (signature_nid == NID_rsassaPss) {
    std::unique_ptr<RSA_PSS_PARAMS, OpensslDelete<RSA_PSS_PARAMS_free>> params(
        static_cast<RSA_PSS_PARAMS*>(
            ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(RSA_PSS_PARAMS), algorithm->parameter)));
    if (params != nullptr && params->hashAlgorithm != nullptr &&
        OBJ_obj2nid(params->hashAlgorithm->algorithm) == NID_sha384) {
      return absl::OkStatus();
    }
    return absl::UnauthenticatedError("signed with rsa-pss over another hash than sha-384");
  }
  const char* name = OBJ_nid2sn(signature_nid);
  return absl::UnauthenticatedError(absl::StrCat("signed with ", name == nullptr ? "?" : name,
                                                 ", expected rsa-pss or ecdsa with sha-384"));
}

absl::Status CheckSuite(SignatureSuite suite, int signature_nid, const X509_ALGOR* algorithm,
                        EVP_PKEY* key) {
  return suite == SignatureSuite::kSha384 ? CheckAlgorithm(signature_nid, algorithm)
                                          : CheckIntelAlgorithm(signature_nid, key);
}

}  // namespace

absl::StatusOr<Certificate> Certificate::Parse(std::string_view der) {
  const ClearErrors clear;
  if (der.empty() || der.size() > kMaxCertificateSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate of ", der.size(), " bytes, expected 1 to ", kMaxCertificateSize));
  }
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = cursor + der.size();
  X509Ptr x509(d2i_X509(nullptr, &cursor, static_cast<long>(der.size())));
  if (x509 == nullptr) return absl::InvalidArgumentError("certificate is not valid DER");
  if (cursor != end) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate is followed by ", end - cursor, " bytes"));
  }
  // Computes and caches the extension flags, so that later reads change nothing.
  if ((X509_get_extension_flags(x509.get()) & EXFLAG_INVALID) != 0) {
    return absl::InvalidArgumentError("certificate has malformed extensions");
  }
  return Certificate(std::string(der), std::move(x509));
}

std::string Certificate::SubjectCommonName() const {
  const X509_NAME* name = X509_get_subject_name(get());
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0) return "";
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<size_t>(ASN1_STRING_length(value)));
}

std::string Certificate::SerialHex() const {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(get());
  return base::ToHex(
      {ASN1_STRING_get0_data(serial), static_cast<size_t>(ASN1_STRING_length(serial))});
}

std::string Certificate::Describe() const {
  return absl::StrCat(absl::CHexEscape(SubjectCommonName()), " (serial ", SerialHex(), ")");
}

crypto::Sha256Digest Certificate::SpkiSha256() const {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(get()), &der);
  crypto::Sha256Digest digest{};
  if (size > 0) digest = crypto::Sha256({der, static_cast<size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

bool Certificate::IsIssuedInNameOf(const Certificate& issuer) const {
  return X509_NAME_cmp(X509_get_issuer_name(get()), X509_get_subject_name(issuer.get())) == 0;
}

bool Certificate::IsSelfIssued() const { return IsIssuedInNameOf(*this); }

absl::StatusOr<std::optional<std::string>> Certificate::Extension(const char* oid) const {
  const ClearErrors clear;
  std::unique_ptr<ASN1_OBJECT, OpensslDelete<ASN1_OBJECT_free>> object(OBJ_txt2obj(oid, 1));
  if (object == nullptr) return absl::InternalError(absl::StrCat("malformed oid ", oid));
  const int at = X509_get_ext_by_OBJ(get(), object.get(), -1);
  if (at < 0) return std::optional<std::string>();
  if (X509_get_ext_by_OBJ(get(), object.get(), at) >= 0) {
    return absl::InvalidArgumentError(absl::StrCat("extension ", oid, " is present twice"));
  }
  const ASN1_OCTET_STRING* value = X509_EXTENSION_get_data(X509_get_ext(get(), at));
  return std::optional<std::string>(
      std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                  static_cast<size_t>(ASN1_STRING_length(value))));
}

absl::Status Certificate::CheckValidity(absl::Time now) const {
  const auto from = ToTime(X509_get0_notBefore(get()));
  const auto until = ToTime(X509_get0_notAfter(get()));
  if (!from || !until) return absl::OutOfRangeError("validity period is malformed");
  if (now < *from || now > *until) {
    return absl::OutOfRangeError(absl::StrCat("valid from ", FormatUtc(*from), " to ",
                                              FormatUtc(*until), ", not at ", FormatUtc(now)));
  }
  return absl::OkStatus();
}

absl::Time Certificate::not_after() const {
  return ToTime(X509_get0_notAfter(get())).value_or(absl::InfinitePast());
}

absl::Status Certificate::CheckIsCa(int below) const {
  const uint32_t flags = X509_get_extension_flags(get());
  if ((flags & EXFLAG_BCONS) == 0 || (flags & EXFLAG_CA) == 0) {
    return absl::PermissionDeniedError("basic constraints do not make it a CA");
  }
  const long limit = X509_get_pathlen(get());
  if (limit >= 0 && limit < below) {
    return absl::PermissionDeniedError(absl::StrCat("its path length constraint is ", limit));
  }
  // Without a keyUsage extension every bit is set, as RFC 5280 4.2.1.3 has it.
  if ((X509_get_key_usage(get()) & KU_KEY_CERT_SIGN) == 0) {
    return absl::PermissionDeniedError("key usage does not allow signing certificates");
  }
  return absl::OkStatus();
}

absl::Status Certificate::CheckIsEndEntity() const {
  if ((X509_get_extension_flags(get()) & EXFLAG_CA) != 0) {
    return absl::PermissionDeniedError("a CA certificate stands in for an end entity");
  }
  return absl::OkStatus();
}

absl::Status Certificate::CheckCriticalExtensions() const {
  for (int i = 0; i < X509_get_ext_count(get()); ++i) {
    X509_EXTENSION* extension = X509_get_ext(get(), i);
    if (X509_EXTENSION_get_critical(extension) == 0) continue;
    if (X509_supported_extension(extension) != 0) continue;
    char oid[80] = "";
    OBJ_obj2txt(oid, sizeof(oid), X509_EXTENSION_get_object(extension), 1);
    return absl::InvalidArgumentError(absl::StrCat("unknown critical extension ", oid));
  }
  return absl::OkStatus();
}

absl::Status Certificate::CheckSignedBy(const Certificate& issuer, SignatureSuite suite,
                                        KnownSignatures* known) const {
  const ClearErrors clear;
  const X509_ALGOR* algorithm = nullptr;
  X509_get0_signature(nullptr, &algorithm, get());
  EVP_PKEY* key = issuer.public_key();
  if (key == nullptr) return absl::UnauthenticatedError("the issuer's key cannot be decoded");
  const int nid = X509_get_signature_nid(get());
  if (absl::Status fits = CheckSuite(suite, nid, algorithm, key); !fits.ok()) return fits;
  if (!KnownSignatures::Check(known, "certificate", der_, issuer.SpkiSha256(),
                              [&] { return X509_verify(get(), key) == 1; })) {
    return absl::UnauthenticatedError(
        absl::StrCat("signature does not verify under the key of ", issuer.Describe()));
  }
  return absl::OkStatus();
}

EVP_PKEY* Certificate::public_key() const {
  const ClearErrors clear;
  return X509_get0_pubkey(get());
}

absl::StatusOr<Crl> Crl::Parse(std::string_view der) {
  const ClearErrors clear;
  if (der.empty() || der.size() > kMaxCrlSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("revocation list of ", der.size(), " bytes, expected 1 to ", kMaxCrlSize));
  }
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = cursor + der.size();
  X509CrlPtr crl(d2i_X509_CRL(nullptr, &cursor, static_cast<long>(der.size())));
  if (crl == nullptr) return absl::InvalidArgumentError("revocation list is not valid DER");
  if (cursor != end) {
    return absl::InvalidArgumentError(
        absl::StrCat("revocation list is followed by ", end - cursor, " bytes"));
  }
  return Crl(std::move(crl));
}

bool Crl::IsIssuedInNameOf(const Certificate& issuer) const {
  return X509_NAME_cmp(X509_CRL_get_issuer(crl_.get()), X509_get_subject_name(issuer.get())) == 0;
}

absl::Status Crl::CheckSignedBy(const Certificate& issuer, SignatureSuite suite) const {
  const ClearErrors clear;
  const X509_ALGOR* algorithm = nullptr;
  X509_CRL_get0_signature(crl_.get(), nullptr, &algorithm);
  const int nid = X509_CRL_get_signature_nid(crl_.get());
  EVP_PKEY* key = issuer.public_key();
  if (absl::Status fits = CheckSuite(suite, nid, algorithm, key); !fits.ok()) return fits;
  if ((X509_get_key_usage(issuer.get()) & KU_CRL_SIGN) == 0) {
    return absl::UnauthenticatedError(
        absl::StrCat(issuer.Describe(), " may not sign revocation lists"));
  }
  if (key == nullptr || X509_CRL_verify(crl_.get(), key) != 1) {
    return absl::UnauthenticatedError(
        absl::StrCat("signature does not verify under the key of ", issuer.Describe()));
  }
  for (int i = 0; i < X509_CRL_get_ext_count(crl_.get()); ++i) {
    if (X509_EXTENSION_get_critical(X509_CRL_get_ext(crl_.get(), i)) != 0) {
      return absl::UnauthenticatedError("it has a critical extension: not a complete list");
    }
  }
  return absl::OkStatus();
}

absl::Status Crl::CheckFreshness(absl::Time now) const {
  const auto from = ToTime(X509_CRL_get0_lastUpdate(crl_.get()));
  const auto until = ToTime(X509_CRL_get0_nextUpdate(crl_.get()));
  if (!from || !until) return absl::OutOfRangeError("it does not say until when it holds");
  if (now < *from || now > *until) {
    return absl::OutOfRangeError(absl::StrCat("it holds from ", FormatUtc(*from), " to ",
                                              FormatUtc(*until), ", not at ", FormatUtc(now)));
  }
  return absl::OkStatus();
}

absl::Time Crl::this_update() const {
  return ToTime(X509_CRL_get0_lastUpdate(crl_.get())).value_or(absl::InfinitePast());
}

absl::Time Crl::next_update() const {
  return ToTime(X509_CRL_get0_nextUpdate(crl_.get())).value_or(absl::InfinitePast());
}

bool Crl::Revokes(const Certificate& certificate) const {
  // X509_CRL_get0_by_serial sorts the list on first use; a copy keeps this const and thread-safe.
  X509CrlPtr copy(X509_CRL_dup(crl_.get()));
  if (copy == nullptr) return true;
  X509_REVOKED* entry = nullptr;
  // Return 2 means "removeFromCRL", which only a delta list may say: it counts as revoked too.
  return X509_CRL_get0_by_serial(copy.get(), &entry, X509_get0_serialNumber(certificate.get())) !=
         0;
}

}  // namespace caravan::attestation
