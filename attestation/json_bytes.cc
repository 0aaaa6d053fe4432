// SPDX-License-Identifier: Apache-2.0
#include "attestation/json_bytes.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "attestation/pem.h"
#include "attestation/x509.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

using base::JsonValue;

constexpr const char* kMembers[] = {"data", "vcek", "vlek",     "ask",
                                    "asvk", "ark",  "vcekCert", "certificateChain"};

absl::Status AddDer(std::string der, std::vector<std::string>* out) {
  if (der.size() > kMaxCertificateSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a certificate of ", der.size(), " bytes, at most ", kMaxCertificateSize));
  }
  if (const auto certificate = Certificate::Parse(der); !certificate.ok()) {
    return certificate.status();
  }
  if (out->size() >= kMaxCertificates) {
    return absl::InvalidArgumentError(absl::StrCat("over ", kMaxCertificates, " certificates"));
  }
  out->push_back(std::move(der));
  return absl::OkStatus();
}

bool IsPem(std::string_view text) { return text.find("-----BEGIN ") != std::string_view::npos; }

absl::Status AddPem(std::string_view text, std::vector<std::string>* out) {
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(text, kMaxCertificates);
  if (!blocks.ok()) return blocks.status();
  const size_t before = out->size();
  for (PemBlock& block : *blocks) {
    if (block.type != "CERTIFICATE" && block.type != "X509 CERTIFICATE") continue;
    if (absl::Status added = AddDer(std::move(block.bytes), out); !added.ok()) return added;
  }
  if (out->size() > before) return absl::OkStatus();
  return absl::InvalidArgumentError("pem that holds no certificate");
}

// Text or an array of numbers.
absl::Status AddOne(const base::JsonValue& value, std::vector<std::string>* out) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (text != nullptr && IsPem(*text)) return AddPem(*text, out);
  std::optional<std::string> bytes = JsonBytes(&value);
  if (!bytes.has_value()) {
    return absl::InvalidArgumentError(
        "neither pem, nor hexadecimal, nor base64, nor an array of bytes");
  }
  return IsPem(*bytes) ? AddPem(*bytes, out) : AddDer(*std::move(bytes), out);
}

bool IsEmpty(const base::JsonValue& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  const auto* list = std::get_if<base::JsonValue::Array>(&value.value);
  return std::holds_alternative<base::JsonValue::Other>(value.value) ||
         (text != nullptr && text->empty()) || (list != nullptr && list->empty());
}

absl::Status AddMembers(const base::JsonValue& object, std::vector<std::string>* out) {
  const base::JsonValue* type = object.Find("cert_type");
  const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  if (name != nullptr && *name == "CRL") return absl::OkStatus();
  for (const char* member : kMembers) {
    const base::JsonValue* value = object.Find(member);
    if (value == nullptr || IsEmpty(*value)) continue;
    if (absl::Status added = AddOne(*value, out); !added.ok()) return added;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string> TextBytes(const std::string& text) {
  const std::string_view digits = text;
  const bool prefixed = digits.starts_with("0x");
  if (auto bytes = base::FromHex(digits.substr(prefixed ? 2 : 0)); bytes.has_value()) return bytes;
  std::string bytes;
  if (absl::Base64Unescape(text, &bytes) || absl::WebSafeBase64Unescape(text, &bytes)) {
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::string> JsonBytes(const base::JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&value->value); text != nullptr) {
    return TextBytes(*text);
  }
  const auto* array = std::get_if<base::JsonValue::Array>(&value->value);
  if (array == nullptr) return std::nullopt;
  std::string bytes;
  for (const base::JsonValue& item : *array) {
    const auto* byte = std::get_if<int64_t>(&item.value);
    if (byte == nullptr || *byte < 0 || *byte > 255) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

absl::Status AddJsonCertificates(const base::JsonValue& value, std::vector<std::string>* out) {
  if (IsEmpty(value)) return absl::OkStatus();
  if (std::holds_alternative<base::JsonValue::Object>(value.value)) return AddMembers(value, out);
  const auto* list = std::get_if<base::JsonValue::Array>(&value.value);
  if (list == nullptr || std::holds_alternative<int64_t>(list->front().value)) {
    return AddOne(value, out);
  }
  for (const base::JsonValue& item : *list) {
    const bool object = std::holds_alternative<base::JsonValue::Object>(item.value);
    absl::Status added = object ? AddMembers(item, out) : AddOne(item, out);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

}  // namespace caravan::attestation
