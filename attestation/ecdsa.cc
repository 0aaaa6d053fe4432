// SPDX-License-Identifier: Apache-2.0
#include "attestation/ecdsa.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/objects.h>
#include <openssl/param_build.h>

#include <array>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace caravan::attestation {
namespace {

constexpr char kUncompressed = 0x04;  // SEC 1, 2.3.3
constexpr size_t kP256PointSize = 64;

using BignumPtr = std::unique_ptr<BIGNUM, OpensslDelete<BN_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, OpensslDelete<ECDSA_SIG_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>>;
using GroupPtr = std::unique_ptr<EC_GROUP, OpensslDelete<EC_GROUP_free>>;

int Nid(Curve curve) { return curve == Curve::kP256 ? NID_X9_62_prime256v1 : NID_secp384r1; }
const EVP_MD* Hash(Curve curve) { return curve == Curve::kP256 ? EVP_sha256() : EVP_sha384(); }
const char* Name(Curve curve) { return curve == Curve::kP256 ? "P-256" : "P-384"; }

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

absl::StatusOr<BignumPtr> ReadScalar(std::string_view part, const BIGNUM* order, const char* name) {
  BignumPtr scalar(BN_bin2bn(Bytes(part), static_cast<int>(part.size()), nullptr));
  if (scalar == nullptr) return absl::ResourceExhaustedError("out of memory for the signature");
  if (BN_is_zero(scalar.get()) || BN_cmp(scalar.get(), order) >= 0) {
    return absl::UnauthenticatedError(
        absl::StrCat("signature's ", name, " is not between 1 and the group's order"));
  }
  return scalar;
}

}  // namespace

size_t ScalarSize(Curve curve) { return curve == Curve::kP256 ? 32 : 48; }

bool IsOnCurve(EVP_PKEY* key, Curve curve) {
  std::array<char, 64> group{};
  size_t size = 0;
  return key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
         OBJ_sn2nid(group.data()) == Nid(curve);
}

absl::Status CheckEcdsa(Curve curve, EVP_PKEY* key, std::string_view signature,
                        std::string_view message) {
  const ClearErrors clear;
  if (!IsOnCurve(key, curve)) {
    return absl::UnauthenticatedError(absl::StrCat("the key is not on ", Name(curve)));
  }
  const size_t size = ScalarSize(curve);
  if (signature.size() != 2 * size) {
    return absl::UnauthenticatedError(
        absl::StrCat("signature of ", signature.size(), " bytes, expected ", 2 * size));
  }
  const GroupPtr group(EC_GROUP_new_by_curve_name(Nid(curve)));
  if (group == nullptr) return absl::ResourceExhaustedError("out of memory for the curve");
  const BIGNUM* order = EC_GROUP_get0_order(group.get());
  absl::StatusOr<BignumPtr> r = ReadScalar(signature.substr(0, size), order, "r");
  if (!r.ok()) return r.status();
  absl::StatusOr<BignumPtr> s = ReadScalar(signature.substr(size), order, "s");
  if (!s.ok()) return s.status();
  SignaturePtr parts(ECDSA_SIG_new());
  if (parts == nullptr || ECDSA_SIG_set0(parts.get(), r->get(), s->get()) != 1) {
    return absl::ResourceExhaustedError("out of memory for the signature");
  }
  r->release();
  s->release();
  unsigned char* der = nullptr;
  const int der_size = i2d_ECDSA_SIG(parts.get(), &der);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(
      der, [](unsigned char* bytes) { OPENSSL_free(bytes); });
  DigestContext context(EVP_MD_CTX_new());
  const bool good = der_size > 0 && context != nullptr &&
                    EVP_DigestVerifyInit(context.get(), nullptr, Hash(curve), nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), der, static_cast<size_t>(der_size),
                                     Bytes(message), message.size()) == 1;
  return good ? absl::OkStatus()
              : absl::UnauthenticatedError("the signature does not verify under the key");
}

absl::StatusOr<std::string> SignEcdsa(Curve curve, EVP_PKEY* key, std::string_view message) {
  const ClearErrors clear;
  if (!IsOnCurve(key, curve)) {
    return absl::InvalidArgumentError(absl::StrCat("signing needs a key on ", Name(curve)));
  }
  DigestContext context(EVP_MD_CTX_new());
  size_t size = 0;
  std::vector<unsigned char> der;
  const bool sized =
      context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, Hash(curve), nullptr, key) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, Bytes(message), message.size()) == 1;
  if (sized) der.resize(size);
  if (!sized ||
      EVP_DigestSign(context.get(), der.data(), &size, Bytes(message), message.size()) != 1) {
    return absl::InternalError("openssl cannot sign");
  }
  const unsigned char* cursor = der.data();
  const SignaturePtr parts(d2i_ECDSA_SIG(nullptr, &cursor, static_cast<long>(size)));
  const int scalar = static_cast<int>(ScalarSize(curve));
  std::string signature(2 * ScalarSize(curve), '\0');
  auto* out = reinterpret_cast<unsigned char*>(signature.data());
  if (parts == nullptr || BN_bn2binpad(ECDSA_SIG_get0_r(parts.get()), out, scalar) != scalar ||
      BN_bn2binpad(ECDSA_SIG_get0_s(parts.get()), out + scalar, scalar) != scalar) {
    return absl::InternalError("openssl made a malformed signature");
  }
  return signature;
}

absl::StatusOr<EvpPkeyPtr> MakeP256PublicKey(std::string_view point) {
  const ClearErrors clear;
  if (point.size() != kP256PointSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a P-256 point of ", point.size(), " bytes, expected ", kP256PointSize));
  }
  const std::string encoded = std::string(1, kUncompressed) + std::string(point);
  const std::unique_ptr<OSSL_PARAM_BLD, OpensslDelete<OSSL_PARAM_BLD_free>> builder(
      OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, encoded.data(),
                                       encoded.size()) != 1) {
    return absl::ResourceExhaustedError("out of memory for a key");
  }
  const std::unique_ptr<OSSL_PARAM, OpensslDelete<OSSL_PARAM_free>> params(
      OSSL_PARAM_BLD_to_param(builder.get()));
  const std::unique_ptr<EVP_PKEY_CTX, OpensslDelete<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  // Decoding refuses points that are not on the curve (SEC 1, 2.3.4).
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return absl::InvalidArgumentError("the bytes are no point of P-256");
  }
  return EvpPkeyPtr(key);
}

absl::StatusOr<std::string> P256Point(EVP_PKEY* key) {
  const ClearErrors clear;
  std::string encoded(1 + kP256PointSize, '\0');
  size_t size = 0;
  if (!IsOnCurve(key, Curve::kP256) ||
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY,
                                      reinterpret_cast<unsigned char*>(encoded.data()),
                                      encoded.size(), &size) != 1 ||
      size != encoded.size() || encoded[0] != kUncompressed) {
    return absl::InvalidArgumentError("the key is not on P-256");
  }
  return encoded.substr(1);
}

}  // namespace caravan::attestation
