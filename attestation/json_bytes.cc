// SPDX-License-Identifier: Apache-2.0
#include "attestation/json_bytes.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "attestation/hex.h"
#include "attestation/pem.h"

namespace caravan::attestation {
namespace {

using intel::JsonValue;

constexpr char kSequence = 0x30;  // what a certificate in DER begins with

absl::Status AddPem(std::string_view text, std::vector<std::string>* out) {
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(text, kMaxCertificates);
  if (!blocks.ok()) return blocks.status();
  for (PemBlock& block : *blocks) {
    if (block.type == "CERTIFICATE") out->push_back(std::move(block.bytes));
  }
  return absl::OkStatus();
}

bool IsPem(std::string_view text) { return text.find("-----BEGIN ") != std::string_view::npos; }

// Text or an array of numbers; nothing is added when it is no certificate.
absl::Status AddOne(const JsonValue& value, std::vector<std::string>* out) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (text != nullptr && IsPem(*text)) return AddPem(*text, out);
  std::optional<std::string> bytes = JsonBytes(&value);
  if (!bytes.has_value()) return absl::OkStatus();
  if (IsPem(*bytes)) return AddPem(*bytes, out);
  if (!bytes->empty() && bytes->front() == kSequence) out->push_back(*std::move(bytes));
  return absl::OkStatus();
}

absl::Status AddAll(const JsonValue& value, std::vector<std::string>* out) {
  if (const auto* object = std::get_if<JsonValue::Object>(&value.value); object != nullptr) {
    for (const JsonValue::Member& member : *object) {
      if (absl::Status added = AddOne(member.value, out); !added.ok()) return added;
    }
    return absl::OkStatus();
  }
  const auto* list = std::get_if<JsonValue::Array>(&value.value);
  if (list == nullptr || list->empty() || std::holds_alternative<int64_t>(list->front().value)) {
    return AddOne(value, out);
  }
  for (const JsonValue& item : *list) {
    const bool deeper = std::holds_alternative<JsonValue::Object>(item.value);
    absl::Status added = deeper ? AddAll(item, out) : AddOne(item, out);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string> TextBytes(const std::string& text) {
  const std::string_view digits = text;
  const bool prefixed = digits.starts_with("0x");
  if (auto bytes = FromHex(digits.substr(prefixed ? 2 : 0)); bytes.has_value()) return bytes;
  std::string bytes;
  if (absl::Base64Unescape(text, &bytes) || absl::WebSafeBase64Unescape(text, &bytes)) {
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::string> JsonBytes(const JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&value->value); text != nullptr) {
    return TextBytes(*text);
  }
  const auto* array = std::get_if<JsonValue::Array>(&value->value);
  if (array == nullptr) return std::nullopt;
  std::string bytes;
  for (const JsonValue& item : *array) {
    const auto* byte = std::get_if<int64_t>(&item.value);
    if (byte == nullptr || *byte < 0 || *byte > 255) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

absl::Status AddJsonCertificates(const JsonValue& value, std::vector<std::string>* out) {
  std::vector<std::string> found;
  if (absl::Status added = AddAll(value, &found); !added.ok()) return added;
  if (found.empty()) return absl::InvalidArgumentError("holds no certificate");
  if (out->size() + found.size() > kMaxCertificates) {
    return absl::InvalidArgumentError(absl::StrCat("over ", kMaxCertificates, " certificates"));
  }
  for (std::string& der : found) out->push_back(std::move(der));
  return absl::OkStatus();
}

}  // namespace caravan::attestation
