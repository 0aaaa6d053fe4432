// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/device_certificate.h"

#include <openssl/asn1.h>
#include <openssl/objects.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hex.h"

namespace caravan::attestation::nvidia {
namespace {

// SEQUENCE { OBJECT IDENTIFIER sha384, OCTET STRING of 48 bytes }, up to the digest.
constexpr std::string_view kFwidHeader(
    "\x30\x3d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x04\x30", 15);
constexpr size_t kFwidSize = kFwidHeader.size() + kDigestSize;
constexpr int kFwidsTag = 6;
constexpr size_t kMaxParts = 16;

// One DER element and what is behind it.
struct Element {
  int tag = 0;
  int tag_class = 0;
  bool constructed = false;
  std::string_view content;
  std::string_view rest;
};

std::optional<Element> ReadElement(std::string_view der) {
  const ClearErrors clear;
  const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* cursor = begin;
  Element element;
  long length = 0;
  const int form = ASN1_get_object(&cursor, &length, &element.tag, &element.tag_class,
                                   static_cast<long>(der.size()));
  // Bit 7: an error. Bit 0: of no definite length, which DER does not have.
  if (der.empty() || (form & 0x80) != 0 || (form & 1) != 0) return std::nullopt;
  element.constructed = (form & V_ASN1_CONSTRUCTED) != 0;
  const size_t at = static_cast<size_t>(cursor - begin);
  element.content = der.substr(at, static_cast<size_t>(length));
  element.rest = der.substr(at + static_cast<size_t>(length));
  return element;
}

std::optional<std::string> FwidOf(std::string_view bytes) {
  if (bytes.size() < kFwidSize || bytes.substr(0, kFwidHeader.size()) != kFwidHeader) {
    return std::nullopt;
  }
  return std::string(bytes.substr(kFwidHeader.size(), kDigestSize));
}

// The whole is one SEQUENCE, which ends with the FWID.
std::optional<std::string> FwidAtTheEnd(std::string_view extension) {
  const std::optional<Element> whole = ReadElement(extension);
  const bool sequence = whole.has_value() && whole->tag == V_ASN1_SEQUENCE &&
                        whole->tag_class == V_ASN1_UNIVERSAL && whole->rest.empty();
  if (!sequence || whole->content.size() < kFwidSize) return std::nullopt;
  return FwidOf(whole->content.substr(whole->content.size() - kFwidSize));
}

// SEQUENCE { …, fwids [6] IMPLICIT SEQUENCE OF FWID, … }: the first.
std::optional<std::string> FirstFwid(std::string_view extension) {
  const std::optional<Element> whole = ReadElement(extension);
  if (!whole.has_value() || whole->tag != V_ASN1_SEQUENCE || !whole->rest.empty()) {
    return std::nullopt;
  }
  std::string_view rest = whole->content;
  for (size_t i = 0; i < kMaxParts && !rest.empty(); ++i) {
    const std::optional<Element> part = ReadElement(rest);
    if (!part.has_value()) return std::nullopt;
    if (part->tag == kFwidsTag && part->tag_class == V_ASN1_CONTEXT_SPECIFIC) {
      return part->constructed ? FwidOf(part->content) : std::nullopt;
    }
    rest = part->rest;
  }
  return std::nullopt;
}

// The only serialNumber of the subject, "" when there is none or more than one.
std::string SubjectSerialNumber(const Certificate& certificate) {
  const X509_NAME* name = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(name, NID_serialNumber, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_serialNumber, at) >= 0) return "";
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<size_t>(ASN1_STRING_length(value)));
}

}  // namespace

std::string Chip::product() const {
  std::string product = name;
  product.erase(std::remove(product.begin(), product.end(), '_'), product.end());
  return product;
}

std::optional<Chip> ChipOfName(std::string_view common_name) {
  const size_t blank = common_name.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  Chip chip;
  chip.name = std::string(common_name.substr(0, blank));
  const auto begins = [&](std::string_view family) {
    return chip.name.starts_with(family) && chip.name.size() > family.size() &&
           std::all_of(chip.name.begin() + static_cast<ptrdiff_t>(family.size()), chip.name.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  if (begins("GH1")) {
    chip.architecture = Architecture::kHopper;
  } else if (begins("GB1") || begins("GB2")) {
    chip.architecture = Architecture::kBlackwell;
  } else if (chip.name == "LS_10") {
    chip.architecture = Architecture::kLs10;
    chip.device_class = DeviceClass::kSwitch;
  } else {
    return std::nullopt;
  }
  return chip;
}

bool IsLeafName(const Chip& chip, std::string_view name) {
  return name.starts_with(absl::StrCat(chip.name, " ")) && name.ends_with(" LF");
}

bool IsDeviceCaName(const Chip& chip, std::string_view name) {
  return name.starts_with(absl::StrCat(chip.name, " ")) && name.ends_with(" BROM");
}

bool IsProvisionerName(const Chip& chip, std::string_view name) {
  return name.starts_with(absl::StrCat("NVIDIA ", chip.name, " Provisioner ICA "));
}

bool IsIdentityName(const Chip& chip, std::string_view name) {
  // LS10's provisioner stands under Hopper's identity.
  const std::string owner = chip.architecture == Architecture::kLs10 ? "GH100" : chip.name;
  return name == absl::StrCat("NVIDIA ", owner, " Identity");
}

bool LooksLikeLeaf(const Certificate& certificate) {
  for (const char* oid : {kOidCompositeDeviceId, kOidDiceTcbInfo}) {
    const auto extension = certificate.Extension(oid);
    if (!extension.ok() || extension->has_value()) return true;
  }
  return false;
}

absl::StatusOr<std::string> CertifiedFwid(const Certificate& leaf) {
  const auto composite = leaf.Extension(kOidCompositeDeviceId);
  if (!composite.ok()) return composite.status();
  const auto tcb_info = leaf.Extension(kOidDiceTcbInfo);
  if (!tcb_info.ok()) return tcb_info.status();
  if (composite->has_value() && tcb_info->has_value()) {
    return absl::InvalidArgumentError("the certificate names its firmware in two extensions");
  }
  if (!composite->has_value() && !tcb_info->has_value()) {
    return absl::NotFoundError("the certificate names no firmware");
  }
  const std::optional<std::string> fwid =
      composite->has_value() ? FwidAtTheEnd(**composite) : FirstFwid(**tcb_info);
  if (!fwid.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate's extension ",
                     composite->has_value() ? kOidCompositeDeviceId : kOidDiceTcbInfo,
                     " holds no sha-384 of its firmware"));
  }
  return *fwid;
}

std::optional<Pdi> CertifiedPdi(const Certificate& device_ca) {
  const std::optional<std::string> bytes = base::FromHex(SubjectSerialNumber(device_ca));
  if (!bytes.has_value() || bytes->size() != kPdiSize + 1) return std::nullopt;
  Pdi pdi;
  std::copy(bytes->begin() + 1, bytes->end(), pdi.begin());
  return pdi;
}

}  // namespace caravan::attestation::nvidia
