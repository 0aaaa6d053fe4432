// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_vtpm.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {
namespace {

// Everything that a TPM writes is big endian.
std::string Big(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = size; i-- > 0;) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string Sized(std::string_view bytes) {
  return absl::StrCat(Big(bytes.size(), 2), std::string(bytes));
}

absl::StatusOr<std::string> Modulus(EVP_PKEY* key) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &raw) != 1) {
    return absl::InternalError("openssl: not an RSA key");
  }
  const std::unique_ptr<BIGNUM, OpensslDelete<BN_free>> modulus(raw);
  std::string bytes(static_cast<size_t>(BN_num_bytes(modulus.get())), '\0');
  BN_bn2bin(modulus.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

std::string Base64Url(std::string_view bytes) {
  std::string text;
  absl::WebSafeBase64Escape(std::string(bytes), &text);
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

// Offsets in a quote's body and in a TD report (attestation/tpm/td_report.cc).
constexpr struct {
  size_t in_body, in_report, size;
} kTdFields[] = {{0, 264, 16},    {16, 280, 48},  {64, 328, 48},  {112, 376, 8}, {120, 512, 16},
                 {136, 528, 384}, {520, 128, 64}, {584, 384, 16}, {600, 912, 48}};

}  // namespace

absl::StatusOr<EvpPkeyPtr> MakeRsaKey() {
  EvpPkeyPtr key(EVP_RSA_gen(2048));
  if (key == nullptr) return absl::InternalError("openssl: cannot make an RSA key");
  return key;
}

absl::StatusOr<std::string> MakeRuntimeClaims(EVP_PKEY* ak, bool secure_boot) {
  absl::StatusOr<std::string> modulus = Modulus(ak);
  if (!modulus.ok()) return modulus.status();
  const auto key = [](const char* name, const char* operation, const std::string& n) {
    return absl::StrCat("{\"kid\":\"", name, "\",\"key_ops\":[\"", operation,
                        "\"],\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"", Base64Url(n), "\"}");
  };
  return absl::StrCat("{\"keys\":[", key("HCLAkPub", "sign", *modulus), ",",
                      key("HCLEkPub", "encrypt", std::string(256, '\xE1')),
                      "],\"vm-configuration\":{\"secure-boot\":", secure_boot ? "true" : "false",
                      ",\"tpm-enabled\":true,\"vmUniqueId\":"
                      "\"6332533D-5649-4D02-8AA7-8F64B7C3EE21\"},\"user-data\":\"00\"}");
}

std::string MakeHclReport(tpm::HardwareType type, std::string_view hardware_report,
                          std::string_view claims) {
  std::string area(hardware_report);
  area.resize(tpm::kHardwareReport, '\0');
  const uint32_t data_size = 20 + static_cast<uint32_t>(claims.size());
  crypto::ByteWriter writer;
  writer.Label("HCLA").U32(2);
  writer.U32(tpm::kHclHeader + tpm::kHardwareReport + data_size);
  writer.U32(2).U32(0).U32(0).U32(0).U32(0);
  writer.Fixed(crypto::AsBytes(area));
  writer.U32(data_size).U32(1).U32(static_cast<uint32_t>(type)).U32(1);
  writer.Prefixed(claims);
  std::string report = std::move(writer).Take();
  report.resize(std::max<size_t>(report.size(), 2600), '\0');
  return report;
}

std::string MakeTdReport(std::string_view quote_body) {
  std::string report(tpm::kTdReport, '\0');
  report[0] = '\x81';
  for (const auto& field : kTdFields) {
    if (field.in_body + field.size > quote_body.size()) continue;
    report.replace(field.in_report, field.size, quote_body.substr(field.in_body, field.size));
  }
  const auto hash = [&report](size_t from, size_t size, size_t to) {
    const crypto::Sha384Digest digest =
        crypto::Sha384(crypto::AsBytes(std::string_view(report).substr(from, size)));
    std::copy(digest.begin(), digest.end(), report.begin() + static_cast<std::ptrdiff_t>(to));
  };
  hash(256, 239, 32);
  hash(512, 512, 80);
  return report;
}

std::string MakeTpmQuote(const TpmQuoteSpec& spec) {
  std::string bytes = absl::StrCat(Big(spec.magic, 4), Big(spec.type, 2),
                                   Sized(spec.qualified_signer), Sized(spec.extra_data));
  // Clock, reset and restart counts, safe, firmware version.
  absl::StrAppend(&bytes, Big(1000, 8), Big(3, 4), Big(1, 4), Big(1, 1), Big(0x2020, 8));
  absl::StrAppend(&bytes, Big(spec.selections.size(), 4));
  for (const auto& [bank, selection] : spec.selections) {
    absl::StrAppend(&bytes, Big(bank, 2), Big(selection.size(), 1), selection);
  }
  return absl::StrCat(bytes, Sized(spec.pcr_digest));
}

crypto::Sha256Digest PcrDigest(const tpm::PcrValues& pcrs) {
  std::string values;
  for (const auto& [index, value] : pcrs) values.append(value.begin(), value.end());
  return crypto::Sha256(crypto::AsBytes(values));
}

absl::StatusOr<std::string> SignRsa(EVP_PKEY* key, std::string_view message) {
  const std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  std::string signature(static_cast<size_t>(EVP_PKEY_get_size(key)), '\0');
  size_t size = signature.size();
  EVP_PKEY_CTX* padding = nullptr;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), &padding, EVP_sha256(), nullptr, key) != 1 ||
      EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PADDING) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1) {
    return absl::InternalError("openssl: cannot sign");
  }
  signature.resize(size);
  return signature;
}

std::string WrapSignature(std::string_view signature) {
  return absl::StrCat(Big(0x0014, 2), Big(tpm::kTpmSha256, 2), Sized(signature));
}

absl::StatusOr<std::string> MakePublicArea(EVP_PKEY* key, uint32_t attributes) {
  absl::StatusOr<std::string> modulus = Modulus(key);
  if (!modulus.ok()) return modulus.status();
  return absl::StrCat(Big(0x0001, 2), Big(tpm::kTpmSha256, 2), Big(attributes, 4), Sized(""),
                      Big(0x0010, 2), Big(0x0014, 2), Big(tpm::kTpmSha256, 2), Big(2048, 2),
                      Big(0, 4), Sized(*modulus));
}

}  // namespace caravan::attestation::insecure_software
