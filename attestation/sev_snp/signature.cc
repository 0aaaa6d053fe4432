// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/signature.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/objects.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/report.h"
#include "attestation/x509.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr size_t kScalarSize = 48;

using BignumPtr = std::unique_ptr<BIGNUM, OpensslDelete<BN_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, OpensslDelete<ECDSA_SIG_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>>;

bool IsP384(EVP_PKEY* key) {
  std::array<char, 64> group{};
  size_t size = 0;
  return key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
         OBJ_sn2nid(group.data()) == NID_secp384r1;
}

absl::StatusOr<BignumPtr> ReadScalar(std::string_view part, const char* name) {
  if (part.substr(kScalarSize).find_first_not_of('\0') != std::string_view::npos) {
    return absl::UnauthenticatedError(absl::StrCat("signature's ", name, " is over 48 bytes"));
  }
  BignumPtr scalar(
      BN_lebin2bn(reinterpret_cast<const unsigned char*>(part.data()), kScalarSize, nullptr));
  if (scalar == nullptr) return absl::ResourceExhaustedError("out of memory for the signature");
  std::unique_ptr<EC_GROUP, OpensslDelete<EC_GROUP_free>> group(
      EC_GROUP_new_by_curve_name(NID_secp384r1));
  if (group == nullptr) return absl::ResourceExhaustedError("out of memory for the curve");
  if (BN_is_zero(scalar.get()) || BN_cmp(scalar.get(), EC_GROUP_get0_order(group.get())) >= 0) {
    return absl::UnauthenticatedError(
        absl::StrCat("signature's ", name, " is not between 1 and the group's order"));
  }
  return scalar;
}

}  // namespace

absl::Status CheckReportSignature(std::string_view report, EVP_PKEY* key) {
  if (report.size() != kReportSize) {
    return absl::UnauthenticatedError(absl::StrCat("report of ", report.size(), " bytes"));
  }
  if (!IsP384(key)) return absl::UnauthenticatedError("the certificate's key is not on P-384");
  absl::StatusOr<BignumPtr> r = ReadScalar(report.substr(kSignedSize, kSignaturePartSize), "r");
  if (!r.ok()) return r.status();
  absl::StatusOr<BignumPtr> s =
      ReadScalar(report.substr(kSignedSize + kSignaturePartSize, kSignaturePartSize), "s");
  if (!s.ok()) return s.status();
  SignaturePtr signature(ECDSA_SIG_new());
  if (signature == nullptr || ECDSA_SIG_set0(signature.get(), r->release(), s->release()) != 1) {
    return absl::ResourceExhaustedError("out of memory for the signature");
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(
      der, [](unsigned char* bytes) { OPENSSL_free(bytes); });
  DigestContext context(EVP_MD_CTX_new());
  const bool good =
      size > 0 && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha384(), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), der, static_cast<size_t>(size),
                       reinterpret_cast<const unsigned char*>(report.data()), kSignedSize) == 1;
  ERR_clear_error();
  if (!good) {
    return absl::UnauthenticatedError(
        "the report's signature does not verify under the certificate's key");
  }
  return absl::OkStatus();
}

absl::Status SignReport(EVP_PKEY* key, std::string* report) {
  if (report->size() != kReportSize || !IsP384(key)) {
    return absl::InvalidArgumentError("signing needs a report of 1184 bytes and a P-384 key");
  }
  auto* bytes = reinterpret_cast<unsigned char*>(report->data());
  DigestContext context(EVP_MD_CTX_new());
  size_t size = 0;
  std::vector<unsigned char> der;
  const bool sized = context != nullptr &&
                     EVP_DigestSignInit(context.get(), nullptr, EVP_sha384(), nullptr, key) == 1 &&
                     EVP_DigestSign(context.get(), nullptr, &size, bytes, kSignedSize) == 1;
  if (sized) der.resize(size);
  if (!sized || EVP_DigestSign(context.get(), der.data(), &size, bytes, kSignedSize) != 1) {
    ERR_clear_error();
    return absl::InternalError("openssl cannot sign the report");
  }
  const unsigned char* cursor = der.data();
  SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &cursor, static_cast<long>(size)));
  std::fill(bytes + kSignedSize, bytes + kSignatureEnd, 0);
  unsigned char* r = bytes + kSignedSize;
  if (signature == nullptr ||
      BN_bn2lebinpad(ECDSA_SIG_get0_r(signature.get()), r, kScalarSize) != kScalarSize ||
      BN_bn2lebinpad(ECDSA_SIG_get0_s(signature.get()), r + kSignaturePartSize, kScalarSize) !=
          kScalarSize) {
    ERR_clear_error();
    return absl::InternalError("openssl made a malformed signature");
  }
  return absl::OkStatus();
}

}  // namespace caravan::attestation::sev_snp
