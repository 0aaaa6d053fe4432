// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/leaf.h"

#include <openssl/asn1.h>
#include <openssl/err.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr char kDerOctetString = 0x04;

absl::StatusOr<std::string> Required(const Certificate& certificate, const char* oid,
                                     const char* name) {
  absl::StatusOr<std::optional<std::string>> value = certificate.Extension(oid);
  if (!value.ok()) return value.status();
  if (!value->has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("certificate has no ", name, " (", oid, ")"));
  }
  return **std::move(value);
}

absl::StatusOr<uint8_t> RequiredSvn(const Certificate& certificate, const char* oid,
                                    const char* name) {
  absl::StatusOr<std::string> value = Required(certificate, oid, name);
  if (!value.ok()) return value.status();
  const auto* cursor = reinterpret_cast<const unsigned char*>(value->data());
  const auto* end = cursor + value->size();
  std::unique_ptr<ASN1_INTEGER, OpensslDelete<ASN1_INTEGER_free>> integer(
      d2i_ASN1_INTEGER(nullptr, &cursor, static_cast<long>(value->size())));
  int64_t number = -1;
  if (integer == nullptr || cursor != end || ASN1_INTEGER_get_int64(&number, integer.get()) != 1 ||
      number < 0 || number > 255) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("certificate's ", name, " (", oid, ") is no integer of 0 to 255"));
  }
  return static_cast<uint8_t>(number);
}

absl::StatusOr<std::string> DecodeText(std::string_view value, const char* name) {
  const auto* cursor = reinterpret_cast<const unsigned char*>(value.data());
  const auto* end = cursor + value.size();
  std::unique_ptr<ASN1_IA5STRING, OpensslDelete<ASN1_IA5STRING_free>> text(
      d2i_ASN1_IA5STRING(nullptr, &cursor, static_cast<long>(value.size())));
  if (text == nullptr || cursor != end) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat("certificate's ", name, " is no IA5String"));
  }
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text.get())),
                     static_cast<size_t>(ASN1_STRING_length(text.get())));
}

absl::Status ReadTcb(const Certificate& certificate, Leaf* leaf) {
  const struct {
    const char* oid;
    const char* name;
    uint8_t Tcb::*value;
    bool wanted;
  } components[] = {
      {kOidBootLoader, "boot loader SVN", &Tcb::boot_loader, true},
      {kOidTee, "tee SVN", &Tcb::tee, true},
      {kOidSnp, "snp SVN", &Tcb::snp, true},
      {kOidMicrocode, "microcode SVN", &Tcb::microcode, true},
      {kOidFmc, "fmc SVN", &Tcb::fmc, leaf->product == v1::TURIN},
  };
  for (const auto& component : components) {
    if (!component.wanted) continue;
    absl::StatusOr<uint8_t> svn = RequiredSvn(certificate, component.oid, component.name);
    if (!svn.ok()) return svn.status();
    leaf->tcb.*component.value = *svn;
  }
  return absl::OkStatus();
}

absl::Status ReadKind(const Certificate& certificate, Leaf* leaf) {
  absl::StatusOr<std::optional<std::string>> hwid = certificate.Extension(kOidHwid);
  if (!hwid.ok()) return hwid.status();
  absl::StatusOr<std::optional<std::string>> csp = certificate.Extension(kOidCspId);
  if (!csp.ok()) return csp.status();
  if (hwid->has_value() == csp->has_value()) {
    return absl::InvalidArgumentError(hwid->has_value()
                                          ? "certificate has both an HWID and a CSP_ID"
                                          : "certificate has neither an HWID (VCEK) nor a CSP_ID "
                                            "(VLEK)");
  }
  if (csp->has_value()) {
    leaf->kind = SigningKey::kVlek;
    absl::StatusOr<std::string> text = DecodeText(**csp, "CSP_ID");
    if (!text.ok()) return text.status();
    leaf->csp_id = *std::move(text);
    return absl::OkStatus();
  }
  leaf->kind = SigningKey::kVcek;
  absl::StatusOr<std::string> decoded = DecodeHwid(**hwid);
  if (!decoded.ok()) return decoded.status();
  const size_t wanted = leaf->product == v1::TURIN ? 8 : 64;
  if (decoded->size() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("certificate's HWID has ", decoded->size(),
                                                   " bytes, a ", leaf->product_name, " has ",
                                                   wanted));
  }
  leaf->hwid = *std::move(decoded);
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeLeaf(const Certificate& certificate) {
  absl::StatusOr<std::optional<std::string>> name = certificate.Extension(kOidProductName);
  return !name.ok() || name->has_value();
}

absl::StatusOr<std::string> DecodeHwid(std::string_view extension) {
  if (extension.size() == 64 || extension.size() == 8) return std::string(extension);
  if ((extension.size() == 66 || extension.size() == 10) && extension[0] == kDerOctetString &&
      static_cast<size_t>(extension[1]) == extension.size() - 2) {
    return std::string(extension.substr(2));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("certificate's HWID extension has ", extension.size(),
                   " bytes, expected 64 or 8, or those as an OCTET STRING"));
}

absl::StatusOr<Leaf> ParseLeaf(const Certificate& certificate) {
  Leaf leaf{.certificate = certificate};
  absl::StatusOr<std::string> product = Required(certificate, kOidProductName, "product name");
  if (!product.ok()) return product.status();
  product = DecodeText(*product, "product name");
  if (!product.ok()) return product.status();
  leaf.product_name = *std::move(product);
  leaf.product = ProductOfName(leaf.product_name);
  if (absl::Status status = ReadTcb(certificate, &leaf); !status.ok()) return status;
  if (absl::Status status = ReadKind(certificate, &leaf); !status.ok()) return status;
  return leaf;
}

}  // namespace caravan::attestation::sev_snp
