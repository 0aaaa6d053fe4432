// SPDX-License-Identifier: Apache-2.0
#include "attestation/ocsp.h"

#include <openssl/asn1.h>
#include <openssl/ocsp.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"

namespace caravan::attestation {
namespace {

using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, OpensslDelete<OCSP_RESPONSE_free>>;
using BasicPtr = std::unique_ptr<OCSP_BASICRESP, OpensslDelete<OCSP_BASICRESP_free>>;
using CertIdPtr = std::unique_ptr<OCSP_CERTID, OpensslDelete<OCSP_CERTID_free>>;
using RequestPtr = std::unique_ptr<OCSP_REQUEST, OpensslDelete<OCSP_REQUEST_free>>;

constexpr int kMaxResponses = 256;     // certificates that one response speaks of
constexpr int kMaxResponderCerts = 8;  // that it brings along
constexpr std::string_view kFreshWhat = "a fresh answer about the certificate's status is at hand";
constexpr std::string_view kRevokedWhat = "no certificate of the chain is revoked";
constexpr std::string_view kHoldWhat = "no certificate of the chain is on hold";

std::optional<absl::Time> ToTime(const ASN1_GENERALIZEDTIME* time) {
  std::tm tm{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1) return std::nullopt;
  return absl::FromTM(tm, absl::UTCTimeZone());
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

absl::StatusOr<ResponsePtr> ParseResponse(std::string_view der) {
  if (der.empty() || der.size() > kMaxOcspSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("ocsp response of ", der.size(), " bytes, expected 1 to ", kMaxOcspSize));
  }
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = cursor + der.size();
  ResponsePtr response(d2i_OCSP_RESPONSE(nullptr, &cursor, static_cast<long>(der.size())));
  if (response == nullptr) return absl::InvalidArgumentError("ocsp response is not valid DER");
  if (cursor != end) {
    return absl::InvalidArgumentError(
        absl::StrCat("ocsp response is followed by ", end - cursor, " bytes"));
  }
  return response;
}

// What lies inside the next element of `der`, or with its header; nullopt where there is none of
// this tag and class. Moves `der` behind it.
std::optional<std::string_view> TakeElement(std::string_view* der, int tag, int tag_class,
                                            bool with_header = false) {
  const auto* const start = reinterpret_cast<const unsigned char*>(der->data());
  const unsigned char* cursor = start;
  long length = 0;
  int found_tag = 0, found_class = 0;
  const int flags =
      ASN1_get_object(&cursor, &length, &found_tag, &found_class, static_cast<long>(der->size()));
  // 0x80 is an error, 1 an indefinite length, which DER does not know.
  if ((flags & 0x81) != 0 || found_tag != tag || found_class != tag_class) return std::nullopt;
  const auto header = static_cast<size_t>(cursor - start);
  const std::string_view whole = der->substr(0, header + static_cast<size_t>(length));
  der->remove_prefix(whole.size());
  return with_header ? whole : whole.substr(header);
}

// The bytes that the responder signed, as they came: OCSPResponse.responseBytes.response, of which
// BasicOCSPResponse's first part is tbsResponseData.
std::optional<std::string_view> SignedBytes(std::string_view der) {
  auto response = TakeElement(&der, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
  if (!response || !TakeElement(&*response, V_ASN1_ENUMERATED, V_ASN1_UNIVERSAL)) {
    return std::nullopt;
  }
  auto tagged = TakeElement(&*response, 0, V_ASN1_CONTEXT_SPECIFIC);
  if (!tagged) return std::nullopt;
  auto bytes = TakeElement(&*tagged, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
  if (!bytes || !TakeElement(&*bytes, V_ASN1_OBJECT, V_ASN1_UNIVERSAL)) return std::nullopt;
  auto octets = TakeElement(&*bytes, V_ASN1_OCTET_STRING, V_ASN1_UNIVERSAL);
  if (!octets) return std::nullopt;
  auto basic = TakeElement(&*octets, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
  if (!basic) return std::nullopt;
  return TakeElement(&*basic, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, true);
}

// Reads one response; each step says why it goes no further.
class Reader {
 public:
  explicit Reader(const OcspQuery& query) : query_(query) {}

  OcspFinding Read(std::string_view der) {
    absl::StatusOr<ResponsePtr> response = ParseResponse(der);
    if (!response.ok()) return Say(OcspOutcome::kNone, std::string(response.status().message()));
    if (const int status = OCSP_response_status(response->get());
        status != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
      return Say(OcspOutcome::kNone,
                 absl::StrCat("the responder answered ", OCSP_response_status_str(status)));
    }
    basic_.reset(OCSP_response_get1_basic(response->get()));
    if (basic_ == nullptr) return Say(OcspOutcome::kNone, "the response is of no known type");
    OCSP_SINGLERESP* single = FindSingle();
    if (single == nullptr) {
      return Say(OcspOutcome::kWrongCertificate,
                 absl::StrCat("the response is not about ", query_.certificate.Describe()));
    }
    if (std::string problem = CheckSignature(der); !problem.empty()) {
      return Say(OcspOutcome::kUntrusted, std::move(problem));
    }
    if (HasCriticalExtension(single)) {
      return Say(OcspOutcome::kUntrusted, "the response has an unknown critical extension");
    }
    return ReadStatus(single);
  }

 private:
  OcspFinding Say(OcspOutcome outcome, std::string detail) {
    finding_.outcome = outcome;
    finding_.detail = std::move(detail);
    return finding_;
  }

  // Serial number, and the issuer's name and key under the hash that the response uses.
  OCSP_SINGLERESP* FindSingle() const {
    const int count = std::min(OCSP_resp_count(basic_.get()), kMaxResponses);
    for (int i = 0; i < count; ++i) {
      OCSP_SINGLERESP* single = OCSP_resp_get0(basic_.get(), i);
      // The accessor below takes no const object, and changes nothing.
      auto* id = const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single));
      ASN1_OBJECT* algorithm = nullptr;
      if (OCSP_id_get0_info(nullptr, &algorithm, nullptr, nullptr, id) != 1) continue;
      const EVP_MD* hash = nullptr;
      switch (OBJ_obj2nid(algorithm)) {
        case NID_sha1:
          hash = EVP_sha1();
          break;
        case NID_sha256:
          hash = EVP_sha256();
          break;
        case NID_sha384:
          hash = EVP_sha384();
          break;
        default:
          continue;
      }
      const CertIdPtr wanted(OCSP_cert_to_id(hash, query_.certificate.get(), query_.issuer.get()));
      if (wanted != nullptr && OCSP_id_cmp(wanted.get(), id) == 0) return single;
    }
    return nullptr;
  }

  // RFC 6960 4.2.2.2: whom the issuer itself issued a certificate for this purpose, and nobody
  // else.
  std::string CheckDelegation(const Certificate& responder) const {
    absl::Status status =
        responder.CheckSignedBy(query_.issuer, SignatureSuite::kSha384, query_.known);
    if (status.ok() && !responder.IsIssuedInNameOf(query_.issuer)) {
      status = absl::UnauthenticatedError("the certificate's issuer did not issue it");
    }
    if (status.ok()) status = responder.CheckIsEndEntity();
    if (status.ok()) status = responder.CheckCriticalExtensions();
    if (status.ok()) status = responder.CheckValidity(query_.now);
    if (!status.ok()) return std::string(status.message());
    X509* x509 = responder.get();
    if ((X509_get_extension_flags(x509) & EXFLAG_XKUSAGE) == 0 ||
        (X509_get_extended_key_usage(x509) & XKU_OCSP_SIGN) == 0) {
      return "its certificate is not for signing ocsp responses";
    }
    if ((X509_get_key_usage(x509) & KU_DIGITAL_SIGNATURE) == 0) {
      return "its key usage does not allow signatures";
    }
    return "";
  }

  std::string CheckSignature(std::string_view der) const {
    const std::optional<std::string_view> bytes = SignedBytes(der);
    if (!bytes.has_value()) return "the response is not encoded in DER";
    const STACK_OF(X509)* certificates = OCSP_resp_get0_certs(basic_.get());
    const int count = std::min(sk_X509_num(certificates), kMaxResponderCerts);
    // A certificate that comes along is most likely the signer's.
    std::string problem = "neither the issuer's key nor a certificate in the response verifies it";
    for (int i = 0; i < count; ++i) {
      unsigned char* encoded = nullptr;
      const int size = i2d_X509(sk_X509_value(certificates, i), &encoded);
      if (size <= 0) continue;
      const auto responder =
          Certificate::Parse({reinterpret_cast<const char*>(encoded), static_cast<size_t>(size)});
      OPENSSL_free(encoded);
      if (!responder.ok() || !Verifies(*responder, der, *bytes)) continue;
      const std::string refused = CheckDelegation(*responder);
      if (refused.empty()) return "";
      problem = absl::StrCat("responder ", responder->Describe(), ": ", refused);
    }
    return Verifies(query_.issuer, der, *bytes) ? "" : problem;
  }

  // `bytes` of the whole response `der` are what is signed.
  bool Verifies(const Certificate& signer, std::string_view der, std::string_view bytes) const {
    EVP_PKEY* key = signer.public_key();
    if (!IsOnCurve(key, Curve::kP256) && !IsOnCurve(key, Curve::kP384)) return false;
    const EVP_MD* hash = nullptr;
    switch (OBJ_obj2nid(OCSP_resp_get0_tbs_sigalg(basic_.get())->algorithm)) {
      case NID_ecdsa_with_SHA256:
        hash = EVP_sha256();
        break;
      case NID_ecdsa_with_SHA384:
        hash = EVP_sha384();
        break;
      default:
        return false;
    }
    const ASN1_OCTET_STRING* signature = OCSP_resp_get0_signature(basic_.get());
    const std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
    return context != nullptr &&
           KnownSignatures::Check(query_.known, "ocsp", der, signer.SpkiSha256(), [&] {
             return EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), ASN1_STRING_get0_data(signature),
                                     static_cast<size_t>(ASN1_STRING_length(signature)),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     bytes.size()) == 1;
           });
  }

  bool HasCriticalExtension(OCSP_SINGLERESP* single) const {
    return OCSP_SINGLERESP_get_ext_by_critical(single, 1, -1) >= 0 ||
           OCSP_BASICRESP_get_ext_by_critical(basic_.get(), 1, -1) >= 0;
  }

  // The extension's value is the nonce in an OCTET STRING (RFC 8954 2.1).
  bool HasNonce(const std::string& nonce) const {
    const int at = OCSP_BASICRESP_get_ext_by_NID(basic_.get(), NID_id_pkix_OCSP_Nonce, -1);
    if (at < 0) return false;
    const ASN1_OCTET_STRING* value =
        X509_EXTENSION_get_data(OCSP_BASICRESP_get_ext(basic_.get(), at));
    std::string_view der(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                         static_cast<size_t>(ASN1_STRING_length(value)));
    return TakeElement(&der, V_ASN1_OCTET_STRING, V_ASN1_UNIVERSAL) == nonce && der.empty();
  }

  OcspFinding ReadStatus(OCSP_SINGLERESP* single) {
    int reason = -1;
    ASN1_GENERALIZEDTIME *revoked = nullptr, *from = nullptr, *until = nullptr;
    const int status = OCSP_single_get0_status(single, &reason, &revoked, &from, &until);
    finding_.this_update = ToTime(from).value_or(absl::InfinitePast());
    finding_.next_update = ToTime(until).value_or(absl::InfinitePast());
    const std::string name = query_.certificate.Describe();
    const bool hold = reason == OCSP_REVOKED_STATUS_CERTIFICATEHOLD;
    if (status == V_OCSP_CERTSTATUS_REVOKED && !hold) {
      const std::optional<absl::Time> since = ToTime(revoked);
      return Say(OcspOutcome::kRevoked,
                 absl::StrCat(name, " is revoked since ", since ? FormatUtc(*since) : "?", ": ",
                              reason < 0 ? "no reason given" : OCSP_crl_reason_str(reason)));
    }
    if (std::string problem = CheckTime(from, until); !problem.empty()) {
      return Say(OcspOutcome::kStale, absl::StrCat("the answer about ", name, " ", problem));
    }
    if (query_.nonce.has_value() && !HasNonce(*query_.nonce)) {
      return Say(OcspOutcome::kStale,
                 absl::StrCat("the answer about ", name, " has not the request's nonce"));
    }
    if (status == V_OCSP_CERTSTATUS_REVOKED) {
      return Say(OcspOutcome::kHold, absl::StrCat(name, " is on hold"));
    }
    if (status == V_OCSP_CERTSTATUS_GOOD) return Say(OcspOutcome::kGood, "");
    return Say(OcspOutcome::kUnknown, absl::StrCat("the responder does not know ", name));
  }

  std::string CheckTime(const ASN1_GENERALIZEDTIME* from, const ASN1_GENERALIZEDTIME* until) const {
    const auto start = ToTime(from), end = ToTime(until);
    const auto produced = ToTime(OCSP_resp_get0_produced_at(basic_.get()));
    if (!start || !end || !produced) return "does not say until when it holds";
    if (query_.now < *start || query_.now > *end) {
      return absl::StrCat("holds from ", FormatUtc(*start), " to ", FormatUtc(*end), ", not at ",
                          FormatUtc(query_.now));
    }
    if (*produced > query_.now) {
      return absl::StrCat("is of ", FormatUtc(*produced), ", after ", FormatUtc(query_.now));
    }
    return "";
  }

  const OcspQuery& query_;
  BasicPtr basic_;
  OcspFinding finding_;
};

// Whether `a` counts before `b`: a revocation, then what holds, of that the latest, then the rest.
bool CountsBefore(const OcspFinding& a, const OcspFinding& b) {
  const auto rank = [](OcspOutcome outcome) {
    const bool holds = outcome == OcspOutcome::kHold || outcome == OcspOutcome::kGood ||
                       outcome == OcspOutcome::kUnknown;
    return holds ? OcspOutcome::kHold : outcome;
  };
  if (rank(a.outcome) != rank(b.outcome)) return rank(a.outcome) < rank(b.outcome);
  if (a.this_update != b.this_update) return a.this_update > b.this_update;
  return a.outcome < b.outcome;
}

}  // namespace

std::string_view Name(OcspOutcome outcome) {
  constexpr std::array<std::string_view, 8> kNames = {
      "revoked",   "certificate-hold",  "good", "unknown", "stale",
      "untrusted", "wrong-certificate", "none"};
  const auto at = static_cast<size_t>(outcome);
  return at < kNames.size() ? kNames[at] : "unknown";
}

absl::Status CheckOcspForm(std::string_view der) {
  const ClearErrors clear;
  return ParseResponse(der).status();
}

OcspFinding ReadOcspResponse(std::string_view der, const OcspQuery& query) {
  const ClearErrors clear;
  return Reader(query).Read(der);
}

OcspFinding FindOcspStatus(absl::Span<const std::string> responses, const OcspQuery& query) {
  OcspFinding best{OcspOutcome::kNone,
                   absl::StrCat("no answer about ", query.certificate.Describe(), " is at hand")};
  for (const std::string& response : responses) {
    OcspFinding finding = ReadOcspResponse(response, query);
    if (finding.outcome == OcspOutcome::kWrongCertificate) continue;
    if (CountsBefore(finding, best)) best = std::move(finding);
  }
  return best;
}

void CheckOcsp(const OcspRule& rule, absl::Span<const std::string> responses,
               absl::Span<const Certificate> chain, absl::Time now, CheckList* checks) {
  const std::string fresh_id = absl::StrCat(rule.id, "_OCSP");
  std::string missing, revoked, hold;
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const OcspFinding finding = FindOcspStatus(
        responses,
        {.certificate = chain[i], .issuer = chain[i + 1], .now = now, .known = rule.known});
    std::string* const where = finding.outcome == OcspOutcome::kRevoked ? &revoked
                               : finding.outcome == OcspOutcome::kHold  ? &hold
                               : finding.outcome == OcspOutcome::kGood  ? nullptr
                                                                        : &missing;
    if (where != nullptr && where->empty()) *where = finding.detail;
  }
  const std::string revoked_id = absl::StrCat(rule.id, "_REVOKED");
  const std::string hold_id = absl::StrCat(rule.id, "_HOLD");
  if (!revoked.empty()) checks->Fail(revoked_id, kRevokedWhat, revoked);
  if (!hold.empty() && rule.tolerate_hold) {
    checks->Warn(hold_id, kHoldWhat, absl::StrCat(hold, "; the policy tolerates it"));
  } else if (!hold.empty()) {
    checks->Fail(hold_id, kHoldWhat, hold);
  }
  if (missing.empty()) {
    checks->Pass(fresh_id, kFreshWhat);
    if (revoked.empty()) checks->Pass(revoked_id, kRevokedWhat);
    if (hold.empty()) checks->Pass(hold_id, kHoldWhat);
  } else if (rule.waived) {
    checks->Skip(fresh_id, kFreshWhat, absl::StrCat(missing, "; the policy does without"));
  } else {
    checks->Missing(fresh_id, kFreshWhat, missing, rule.hint);
  }
}

absl::StatusOr<std::string> MakeOcspRequest(const Certificate& certificate,
                                            const Certificate& issuer,
                                            const std::optional<std::string>& nonce) {
  const ClearErrors clear;
  if (nonce.has_value() && (nonce->empty() || nonce->size() > kMaxOcspNonce)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ocsp nonce of ", nonce->size(), " bytes, expected 1 to ", kMaxOcspNonce));
  }
  const RequestPtr request(OCSP_REQUEST_new());
  CertIdPtr id(OCSP_cert_to_id(EVP_sha384(), certificate.get(), issuer.get()));
  bool built = request != nullptr && id != nullptr &&
               OCSP_request_add0_id(request.get(), id.get()) != nullptr;
  if (built) id.release();
  if (built && nonce.has_value()) {
    std::string value = *nonce;
    built = OCSP_request_add1_nonce(request.get(), reinterpret_cast<unsigned char*>(value.data()),
                                    static_cast<int>(value.size())) == 1;
  }
  unsigned char* der = nullptr;
  const int size = built ? i2d_OCSP_REQUEST(request.get(), &der) : -1;
  if (size <= 0) return absl::InternalError("openssl: cannot make an ocsp request");
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

}  // namespace caravan::attestation
