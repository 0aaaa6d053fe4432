// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim_signature.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attestation/ecdsa.h"
#include "attestation/evidence.h"
#include "attestation/nvidia/rim_xml.h"
#include "crypto/hash.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr char kC14n11[] = "http://www.w3.org/2006/12/xml-c14n11";
constexpr char kEnveloped[] = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
constexpr char kEcdsaSha384[] = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384";
constexpr char kSha384[] = "http://www.w3.org/2001/04/xmldsig-more#sha384";
constexpr size_t kDigestSize = 48, kSignatureSize = 96;

absl::Status Refuse(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("manifest's signature: ", problem));
}

// Exactly these children, in this order.
absl::Status CheckChildren(const XmlElement& element, absl::Span<const std::string_view> names) {
  bool same = element.children.size() == names.size();
  for (size_t i = 0; same && i < names.size(); ++i) {
    same = element.children[i].Is(kXmlSignatureSpace, names[i]);
  }
  if (same) return absl::OkStatus();
  return Refuse(absl::StrCat(element.name, " has other parts than the one form known"));
}

// An element that says nothing but its algorithm.
absl::Status CheckAlgorithm(const XmlElement& element, const char* expected) {
  const auto algorithm = element.Find("Algorithm");
  if (element.attributes.size() == 1 && element.children.empty() && algorithm == expected) {
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat(element.name, " is \"",
                             absl::CHexEscape(std::string(algorithm.value_or(""))), "\", expected ",
                             expected, " without parameters"));
}

absl::StatusOr<std::string> ReadBase64(const XmlElement& element, size_t max) {
  std::string dense, bytes;
  for (char c : element.text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) dense.push_back(c);
  }
  if (!element.children.empty() || !absl::Base64Unescape(dense, &bytes) || bytes.empty() ||
      bytes.size() > max) {
    return Refuse(absl::StrCat(element.name, " is no base64 of 1 to ", max, " bytes"));
  }
  return bytes;
}

// The digest that the one reference names.
absl::StatusOr<std::string> ReadReference(const XmlElement& reference) {
  // "" is the document that holds the signature (RFC 3986 4.4): nothing else can be meant.
  if (reference.attributes.size() != 1 || reference.Find("URI") != "") {
    return Refuse("the reference does not cover the whole document");
  }
  if (auto status = CheckChildren(reference, {"Transforms", "DigestMethod", "DigestValue"});
      !status.ok()) {
    return status;
  }
  const XmlElement& transforms = reference.children[0];
  for (const absl::Status& status :
       {CheckChildren(transforms, {"Transform", "Transform"}),
        transforms.attributes.empty() ? absl::OkStatus() : Refuse("Transforms has attributes")}) {
    if (!status.ok()) return status;
  }
  for (const absl::Status& status : {CheckAlgorithm(transforms.children[0], kEnveloped),
                                     CheckAlgorithm(transforms.children[1], kC14n11),
                                     CheckAlgorithm(reference.children[1], kSha384)}) {
    if (!status.ok()) return status;
  }
  return ReadBase64(reference.children[2], kDigestSize);
}

// Reads SignedInfo from its canonical bytes: from what is signed, and from nothing beside it.
absl::StatusOr<std::string> ReadSignedInfo(std::string_view canonical) {
  const absl::StatusOr<XmlElement> info = ParseXml(canonical);
  if (!info.ok()) return info.status();
  if (!info->Is(kXmlSignatureSpace, "SignedInfo")) return Refuse("it does not sign SignedInfo");
  if (auto status =
          CheckChildren(*info, {"CanonicalizationMethod", "SignatureMethod", "Reference"});
      !status.ok()) {
    return status;
  }
  for (const absl::Status& status : {CheckAlgorithm(info->children[0], kC14n11),
                                     CheckAlgorithm(info->children[1], kEcdsaSha384)}) {
    if (!status.ok()) return status;
  }
  return ReadReference(info->children[2]);
}

absl::StatusOr<std::vector<std::string>> ReadCertificates(const XmlElement& key_info) {
  if (auto status = CheckChildren(key_info, {"X509Data"}); !status.ok()) return status;
  std::vector<std::string> certificates;
  for (const XmlElement& child : key_info.children[0].children) {
    if (!child.Is(kXmlSignatureSpace, "X509Certificate")) {
      return Refuse("X509Data holds other things than certificates");
    }
    if (certificates.size() == kMaxRimCertificates) {
      return Refuse(absl::StrCat("over ", kMaxRimCertificates, " certificates"));
    }
    absl::StatusOr<std::string> der = ReadBase64(child, kMaxCertificateSize);
    if (!der.ok()) return der.status();
    certificates.push_back(*std::move(der));
  }
  if (certificates.empty()) return Refuse("it names no certificate");
  return certificates;
}

}  // namespace

absl::StatusOr<SignedDocument> SignedDocument::Parse(std::string_view xml) {
  absl::StatusOr<EnvelopedXml> parts = SplitEnvelopedXml(xml);
  if (!parts.ok()) return parts.status();
  if (auto status = CheckChildren(parts->signature, {"SignedInfo", "SignatureValue", "KeyInfo"});
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::string> digest = ReadSignedInfo(parts->signed_info);
  if (!digest.ok()) return digest.status();
  absl::StatusOr<std::string> signature = ReadBase64(parts->signature.children[1], kSignatureSize);
  if (!signature.ok()) return signature.status();
  if (digest->size() != kDigestSize || signature->size() != kSignatureSize) {
    return Refuse(absl::StrCat("a digest of ", digest->size(), " and a signature of ",
                               signature->size(), " bytes, expected ", kDigestSize, " and ",
                               kSignatureSize));
  }
  absl::StatusOr<std::vector<std::string>> certificates =
      ReadCertificates(parts->signature.children[2]);
  if (!certificates.ok()) return certificates.status();
  SignedDocument document;
  document.content_ = std::move(parts->content);
  document.signed_info_ = std::move(parts->signed_info);
  document.digest_ = *std::move(digest);
  document.signature_ = *std::move(signature);
  document.certificates_ = *std::move(certificates);
  return document;
}

absl::Status SignedDocument::CheckSignedBy(const Certificate& signer,
                                           KnownSignatures* known) const {
  const crypto::Sha384Digest digest = crypto::Sha384(crypto::AsBytes(content_));
  if (std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()) != digest_) {
    return absl::UnauthenticatedError("the document is not the one that was signed");
  }
  absl::Status status;
  KnownSignatures::Check(known, "manifest", signature_ + signed_info_, signer.SpkiSha256(), [&] {
    status = CheckEcdsa(Curve::kP384, signer.public_key(), signature_, signed_info_);
    return status.ok();
  });
  return status;
}

}  // namespace caravan::attestation::nvidia
