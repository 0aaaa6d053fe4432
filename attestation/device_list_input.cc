// SPDX-License-Identifier: Apache-2.0
#include "attestation/device_list_input.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/json_bytes.h"

namespace caravan::attestation {
namespace {

using base::JsonReader;
using base::JsonValue;

absl::StatusOr<Evidence> ReadDevice(const base::JsonValue& object, const std::string& where) {
  absl::Status status;
  base::JsonReader reader(&object, where, &status);
  Evidence item{EvidenceKind::kNvidia, {}, {}};
  if (auto bytes = TextBytes(reader.Text("evidence")); bytes.has_value()) {
    item.report = *std::move(bytes);
  } else {
    reader.Fail("evidence", "is neither base64 nor hexadecimal");
  }
  if (const base::JsonValue* chain = object.Find("certificate"); chain != nullptr) {
    const absl::Status added = AddJsonCertificates(*chain, &item.certificates);
    if (!added.ok()) reader.Fail("certificate", std::string(added.message()));
    if (added.ok() && item.certificates.empty()) reader.Fail("certificate", "holds no certificate");
  }
  if (!status.ok()) return status;
  return item;
}

// The list that a document is or holds; null when it does neither.
const base::JsonValue::Array* FindList(const base::JsonValue& document) {
  if (const auto* list = std::get_if<base::JsonValue::Array>(&document.value)) return list;
  for (const char* name : {"device_evidence_list", "evidence_list"}) {
    const base::JsonValue* member = document.Find(name);
    if (member == nullptr) continue;
    if (const auto* list = std::get_if<base::JsonValue::Array>(&member->value)) return list;
  }
  return nullptr;
}

}  // namespace

bool LooksLikeJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

bool ListsDevices(const base::JsonValue& document) { return FindList(document) != nullptr; }

absl::StatusOr<EvidenceSet> ReadDeviceList(const base::JsonValue& document) {
  EvidenceSet set;
  const base::JsonValue::Array* list = FindList(document);
  if (list == nullptr) {
    absl::StatusOr<Evidence> item = ReadDevice(document, "device");
    if (!item.ok()) return item.status();
    set.items.push_back(*std::move(item));
    return set;
  }
  if (list->empty() || list->size() > kMaxListedDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat(list->size(), " devices, expected 1 to ", kMaxListedDevices));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    absl::StatusOr<Evidence> item = ReadDevice((*list)[i], absl::StrCat("device ", i));
    if (!item.ok()) return item.status();
    set.items.push_back(*std::move(item));
  }
  return set;
}

}  // namespace caravan::attestation
