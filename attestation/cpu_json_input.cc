// SPDX-License-Identifier: Apache-2.0
#include "attestation/cpu_json_input.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attestation/intel/json.h"
#include "attestation/json_bytes.h"

namespace caravan::attestation {
namespace {

using intel::JsonValue;

constexpr const char* kReports[] = {"quote", "attestation_report", "SnpReport", "report"};
constexpr const char* kTables[] = {"aux_blob", "auxblob"};
constexpr const char* kChains[] = {"cert_chain", "VcekCertChain", "vcek", "vlek"};

absl::Status Problem(absl::string_view name, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(name, " ", problem));
}

bool IsText(const JsonValue* value) {
  return value != nullptr && std::holds_alternative<std::string>(value->value);
}

bool IsNull(const JsonValue& value) {
  return std::holds_alternative<JsonValue::Other>(value.value);
}

// Bytes that are JSON in turn; nullopt when they are none.
std::optional<JsonValue> Inner(const std::string& bytes) {
  if (bytes.empty() || bytes.front() != '{') return std::nullopt;
  absl::StatusOr<JsonValue> document = intel::ParseJson(bytes);
  return document.ok() ? std::optional(*std::move(document)) : std::nullopt;
}

absl::Status AddChain(const char* name, const JsonValue& value, CpuJson* out) {
  const absl::Status added = AddJsonCertificates(value, &out->certificates);
  return added.ok() ? added : Problem(name, added.message());
}

absl::Status AddReport(const char* name, const JsonValue& value, CpuJson* out) {
  if (std::holds_alternative<JsonValue::Object>(value.value)) {
    return Problem(name,
                   "lists the report's fields; the signature covers its bytes: give those, raw or "
                   "in hexadecimal or base64");
  }
  std::optional<std::string> bytes = JsonBytes(&value);
  if (!bytes.has_value() || bytes->empty()) {
    return Problem(name, "is neither hexadecimal, nor base64, nor an array of bytes");
  }
  out->bytes = *std::move(bytes);
  return absl::OkStatus();
}

// Azure's containers keep {"vcekCert", "certificateChain", "tcbm"} in base64 beside the report.
absl::StatusOr<std::optional<CpuJson>> ReadContainer(const JsonValue& root) {
  CpuJson out;
  if (absl::Status added = AddReport("evidence", *root.Find("evidence"), &out); !added.ok()) {
    return added;
  }
  const std::optional<std::string> bytes = JsonBytes(root.Find("endorsements"));
  const std::optional<JsonValue> inner = bytes.has_value() ? Inner(*bytes) : std::nullopt;
  if (!inner.has_value()) return Problem("endorsements", "is no json in base64");
  if (absl::Status added = AddChain("endorsements", *inner, &out); !added.ok()) return added;
  return out;
}

absl::StatusOr<std::optional<CpuJson>> ReadObject(const JsonValue& root) {
  const char* name = nullptr;
  for (const char* candidate : kReports) {
    if (name == nullptr && root.Find(candidate) != nullptr) name = candidate;
  }
  if (name == nullptr) {
    if (IsText(root.Find("evidence")) && IsText(root.Find("endorsements"))) {
      return ReadContainer(root);
    }
    return std::nullopt;
  }
  CpuJson out;
  if (absl::Status added = AddReport(name, *root.Find(name), &out); !added.ok()) return added;
  for (const char* table : kTables) {
    const JsonValue* value = root.Find(table);
    if (value == nullptr || IsNull(*value)) continue;
    const std::optional<std::string> bytes = JsonBytes(value);
    if (!bytes.has_value()) return Problem(table, "is neither hexadecimal nor base64");
    out.bytes += *bytes;
  }
  for (const char* chain : kChains) {
    const JsonValue* value = root.Find(chain);
    if (value == nullptr || IsNull(*value)) continue;
    if (absl::Status added = AddChain(chain, *value, &out); !added.ok()) return added;
  }
  return out;
}

}  // namespace

absl::StatusOr<std::optional<CpuJson>> ReadCpuJson(std::string_view text) {
  const absl::StatusOr<JsonValue> document = intel::ParseJson(text);
  if (!document.ok()) return document.status();
  const JsonValue* evidence = document->Find("evidence");
  const bool wrapped =
      evidence != nullptr && std::holds_alternative<JsonValue::Object>(evidence->value);
  absl::StatusOr<std::optional<CpuJson>> read = ReadObject(wrapped ? *evidence : *document);
  if (!read.ok() || !read->has_value()) return read;
  if (const std::optional<JsonValue> inner = Inner((*read)->bytes); inner.has_value()) {
    absl::StatusOr<std::optional<CpuJson>> inside = ReadObject(*inner);
    if (inside.ok() && !inside->has_value()) {
      return absl::InvalidArgumentError("json inside json that holds no report");
    }
    return inside;
  }
  return read;
}

}  // namespace caravan::attestation
