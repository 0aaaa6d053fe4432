// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_ocsp.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::insecure_software {
namespace {

using BasicPtr = std::unique_ptr<OCSP_BASICRESP, OpensslDelete<OCSP_BASICRESP_free>>;
using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, OpensslDelete<OCSP_RESPONSE_free>>;
using CertIdPtr = std::unique_ptr<OCSP_CERTID, OpensslDelete<OCSP_CERTID_free>>;
using TimePtr = std::unique_ptr<ASN1_GENERALIZEDTIME, OpensslDelete<ASN1_GENERALIZEDTIME_free>>;

TimePtr MakeTime(absl::Time time) {
  return TimePtr(ASN1_GENERALIZEDTIME_set(nullptr, absl::ToTimeT(time)));
}

X509Ptr ReadX509(const std::string& der) {
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  return X509Ptr(d2i_X509(nullptr, &cursor, static_cast<long>(der.size())));
}

int StatusValue(OcspStatus status) {
  switch (status) {
    case OcspStatus::kGood:
      return V_OCSP_CERTSTATUS_GOOD;
    case OcspStatus::kRevoked:
      return V_OCSP_CERTSTATUS_REVOKED;
    case OcspStatus::kUnknown:
      return V_OCSP_CERTSTATUS_UNKNOWN;
  }
  return -1;
}

bool Fill(const OcspSpec& spec, OCSP_BASICRESP* basic) {
  const X509Ptr certificate = ReadX509(spec.certificate), issuer = ReadX509(spec.issuer);
  if (certificate == nullptr || issuer == nullptr) return false;
  const CertIdPtr id(OCSP_cert_to_id(spec.id_hash, certificate.get(), issuer.get()));
  const TimePtr from = MakeTime(spec.this_update);
  const TimePtr until = spec.next_update.has_value() ? MakeTime(*spec.next_update) : nullptr;
  const bool revoked = spec.status == OcspStatus::kRevoked;
  if (id == nullptr || from == nullptr ||
      OCSP_basic_add1_status(basic, id.get(), StatusValue(spec.status), spec.reason,
                             revoked ? from.get() : nullptr, from.get(), until.get()) == nullptr) {
    return false;
  }
  if (spec.nonce.has_value()) {
    std::string nonce = *spec.nonce;
    if (OCSP_basic_add1_nonce(basic, reinterpret_cast<unsigned char*>(nonce.data()),
                              static_cast<int>(nonce.size())) != 1) {
      return false;
    }
  }
  // OpenSSL has no setter; its own signing function writes this field, with the current time.
  auto* produced = const_cast<ASN1_GENERALIZEDTIME*>(OCSP_resp_get0_produced_at(basic));
  return ASN1_GENERALIZEDTIME_set(produced, absl::ToTimeT(spec.produced_at)) != nullptr;
}

absl::StatusOr<std::string> Encode(int status, OCSP_BASICRESP* basic) {
  const ResponsePtr response(OCSP_response_create(status, basic));
  unsigned char* der = nullptr;
  const int size = response == nullptr ? -1 : i2d_OCSP_RESPONSE(response.get(), &der);
  ERR_clear_error();
  if (size <= 0) return absl::InternalError("openssl: cannot make an ocsp response");
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

}  // namespace

absl::StatusOr<std::string> MakeOcspResponse(const OcspSpec& spec) {
  const BasicPtr basic(OCSP_BASICRESP_new());
  const X509Ptr signer = ReadX509(spec.signer);
  const unsigned long flags = OCSP_NOTIME | (spec.with_signer ? 0u : OCSP_NOCERTS);
  if (basic == nullptr || signer == nullptr || !Fill(spec, basic.get()) ||
      OCSP_basic_sign(basic.get(), signer.get(), spec.key, spec.digest, nullptr, flags) != 1) {
    ERR_clear_error();
    return absl::InternalError("openssl: cannot sign an ocsp response");
  }
  return Encode(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get());
}

absl::StatusOr<std::string> MakeOcspError(int status) { return Encode(status, nullptr); }

ExtensionList OcspSigningExtensions() {
  // DER of { id-kp-OCSPSigning }, 1.3.6.1.5.5.7.3.9.
  return {{"2.5.29.37", std::string("\x30\x0A\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x09", 12)}};
}

}  // namespace caravan::attestation::insecure_software
