// SPDX-License-Identifier: Apache-2.0
#include "attestation/cpu_json_input.h"

#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attestation/certificate_table.h"
#include "attestation/evidence.h"
#include "attestation/json_bytes.h"

namespace caravan::attestation {
namespace {

using base::JsonValue;
using Read = absl::StatusOr<std::optional<CpuJson>>;

constexpr const char* kReports[] = {"quote", "attestation_report", "SnpReport", "report",
                                    "outblob"};
constexpr const char* kTables[] = {"aux_blob", "auxblob"};
constexpr const char* kChains[] = {"cert_chain", "VcekCertChain", "vcek", "vlek"};

absl::Status Problem(absl::string_view name, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", problem));
}

bool IsText(const base::JsonValue* value) {
  return value != nullptr && std::holds_alternative<std::string>(value->value);
}

// The member, unless it is null.
const base::JsonValue* FindSet(const base::JsonValue& object, const char* name) {
  const base::JsonValue* value = object.Find(name);
  const bool null =
      value != nullptr && std::holds_alternative<base::JsonValue::Other>(value->value);
  return null ? nullptr : value;
}

// Bytes that are JSON in turn; nullopt when they are none.
std::optional<base::JsonValue> Inner(const std::string& bytes) {
  if (bytes.empty() || bytes.front() != '{') return std::nullopt;
  absl::StatusOr<base::JsonValue> document = base::ParseJson(bytes);
  return document.ok() ? std::optional(*std::move(document)) : std::nullopt;
}

absl::Status AddChain(const char* name, const base::JsonValue& value, CpuJson* out) {
  const absl::Status added = AddJsonCertificates(value, &out->certificates);
  return added.ok() ? added : Problem(name, added.message());
}

absl::Status AddTable(const char* name, const base::JsonValue& value, CpuJson* out) {
  const std::optional<std::string> bytes = JsonBytes(&value);
  if (!bytes.has_value()) return Problem(name, "neither hexadecimal nor base64");
  if (IsZero(*bytes)) return absl::OkStatus();
  bool room = true;
  const bool table = ForEachTableEntry(*bytes, [&](std::string_view der) {
    room = room && der.size() <= kMaxCertificateSize && out->certificates.size() < kMaxCertificates;
    if (room) out->certificates.emplace_back(der);
  });
  if (!table) return Problem(name, "no certificate table");
  return room ? absl::OkStatus() : Problem(name, "a certificate table that holds too much");
}

absl::Status AddReport(const char* name, const base::JsonValue& value, CpuJson* out) {
  if (std::holds_alternative<base::JsonValue::Object>(value.value)) {
    return Problem(name,
                   "the report's fields; the signature covers its bytes: give those, raw or in "
                   "hexadecimal or base64");
  }
  std::optional<std::string> bytes = JsonBytes(&value);
  if (!bytes.has_value() || bytes->empty()) {
    return Problem(name, "neither hexadecimal, nor base64, nor an array of bytes");
  }
  out->bytes = *std::move(bytes);
  return absl::OkStatus();
}

// Azure's containers keep {"vcekCert", "certificateChain", "tcbm"} in base64 beside the report.
Read ReadContainer(const base::JsonValue& root) {
  CpuJson out;
  if (absl::Status added = AddReport("evidence", *root.Find("evidence"), &out); !added.ok()) {
    return added;
  }
  const std::optional<std::string> bytes = JsonBytes(root.Find("endorsements"));
  const std::optional<base::JsonValue> inner = bytes.has_value() ? Inner(*bytes) : std::nullopt;
  if (!inner.has_value()) return Problem("endorsements", "no json in base64");
  if (absl::Status added = AddChain("endorsements", *inner, &out); !added.ok()) return added;
  return out;
}

// Azure's {"SnpReport", "VcekCertChain"}, which the bytes of the member `name` are.
absl::Status TakeSnpReport(const char* name, const base::JsonValue& inner, CpuJson* out) {
  const base::JsonValue* report = FindSet(inner, "SnpReport");
  if (report == nullptr) return Problem(name, "json without SnpReport");
  if (absl::Status added = AddReport("SnpReport", *report, out); !added.ok()) return added;
  const base::JsonValue* chain = FindSet(inner, "VcekCertChain");
  return chain == nullptr ? absl::OkStatus() : AddChain("VcekCertChain", *chain, out);
}

Read ReadObject(const base::JsonValue& root) {
  const char* name = nullptr;
  for (const char* candidate : kReports) {
    if (FindSet(root, candidate) == nullptr) continue;
    if (name != nullptr) return Problem(candidate, absl::StrCat("a report, beside that in ", name));
    name = candidate;
  }
  if (name == nullptr) {
    if (!IsText(root.Find("evidence")) || !IsText(root.Find("endorsements"))) return std::nullopt;
    return ReadContainer(root);
  }
  CpuJson out;
  if (absl::Status added = AddReport(name, *root.Find(name), &out); !added.ok()) return added;
  for (const char* table : kTables) {
    const base::JsonValue* value = FindSet(root, table);
    if (value == nullptr) continue;
    if (absl::Status added = AddTable(table, *value, &out); !added.ok()) return added;
  }
  for (const char* chain : kChains) {
    const base::JsonValue* value = FindSet(root, chain);
    if (value == nullptr) continue;
    if (absl::Status added = AddChain(chain, *value, &out); !added.ok()) return added;
  }
  if (const std::optional<base::JsonValue> inner = Inner(out.bytes); inner.has_value()) {
    if (absl::Status taken = TakeSnpReport(name, *inner, &out); !taken.ok()) return taken;
  }
  return out;
}

}  // namespace

Read ReadCpuJson(const base::JsonValue& document) {
  if (document.Find("certificate") != nullptr) return std::nullopt;
  for (const char* wrapper : {"evidence", "quote"}) {
    const base::JsonValue* value = document.Find(wrapper);
    if (value == nullptr || !std::holds_alternative<base::JsonValue::Object>(value->value))
      continue;
    Read read = ReadObject(*value);
    if (!read.ok() || read->has_value()) return read;
  }
  return ReadObject(document);
}

}  // namespace caravan::attestation
