// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/input.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/json_bytes.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/quote.h"
#include "base/json.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {
namespace {

using base::JsonValue;

constexpr size_t kValueSize = 32;
constexpr char kHclFile[] = "hcl-report.bin", kMessageFile[] = "tpm-quote.msg",
               kSignatureFile[] = "tpm-quote.sig", kValuesFile[] = "tpm-quote.pcrs",
               kQuoteFile[] = "quote.bin", kTdQuoteFile[] = "td-quote.bin",
               kAkFile[] = "ak-public.bin";

absl::Status Problem(std::string_view where, std::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("vtpm evidence: ", std::string(where), " ", std::string(problem)));
}

// Gives values their indices: those that the quote selects, whether only they are there or all.
absl::Status SetPcrs(const std::vector<std::string>& values, VtpmEvidence* evidence) {
  if (values.empty()) return absl::OkStatus();
  const absl::StatusOr<Quote> quote = ParseQuote(evidence->quote);
  if (!quote.ok()) return quote.status();
  const absl::StatusOr<std::vector<uint8_t>> selected = SelectedPcrs(*quote);
  if (!selected.ok()) return Problem("tpm quote:", std::string(selected.status().message()));
  if (values.size() != kPcrs && values.size() != selected->size()) {
    return Problem("register values:",
                   absl::StrCat(values.size(), " are given, the quote covers ", selected->size()));
  }
  for (size_t i = 0; i < selected->size(); ++i) {
    const uint8_t index = (*selected)[i];
    const std::string& value = values[values.size() == kPcrs ? index : i];
    if (value.size() != kValueSize) return Problem("register values:", "one is not of 32 bytes");
    std::copy(value.begin(), value.end(), evidence->pcrs[index].begin());
  }
  return absl::OkStatus();
}

absl::StatusOr<Evidence> Finish(VtpmEvidence evidence, std::vector<std::string> certificates,
                                const std::vector<std::string>& values) {
  if (absl::Status set = SetPcrs(values, &evidence); !set.ok()) return set;
  Evidence item{EvidenceKind::kVtpm, Encode(evidence), std::move(certificates)};
  if (absl::StatusOr<VtpmEvidence> good = DecodeVtpmEvidence(item.report); !good.ok()) {
    return good.status();
  }
  return item;
}

// Splits into values of `kValueSize` bytes; nullopt when some bytes are left over.
std::optional<std::vector<std::string>> SplitValues(std::string_view bytes) {
  if (bytes.size() % kValueSize != 0 || bytes.size() > kPcrs * kValueSize) return std::nullopt;
  std::vector<std::string> values;
  for (size_t at = 0; at < bytes.size(); at += kValueSize) {
    values.emplace_back(bytes.substr(at, kValueSize));
  }
  return values;
}

absl::Status ReadQuoteFile(const std::string& bytes, VtpmEvidence* evidence,
                           std::vector<std::string>* values) {
  crypto::ByteReader reader(crypto::AsBytes(bytes));
  for (std::string* part : {&evidence->signature, &evidence->quote}) {
    const absl::StatusOr<uint64_t> size = reader.U64(kQuoteFile);
    if (!size.ok() || *size > kMaxTpmStructure) return Problem(kQuoteFile, "has no such form");
    const auto read = reader.Fixed(static_cast<size_t>(*size), kQuoteFile);
    if (!read.ok()) return Problem(kQuoteFile, "is cut short");
    part->assign(read->begin(), read->end());
  }
  const absl::StatusOr<uint64_t> count = reader.U64(kQuoteFile);
  if (!count.ok() || *count > kPcrs || reader.remaining() != *count * kValueSize) {
    return Problem(kQuoteFile, "has another number of register values than it says");
  }
  *values = *SplitValues(std::string_view(bytes).substr(bytes.size() - reader.remaining()));
  return absl::OkStatus();
}

const base::JsonValue* FindEither(const base::JsonValue& object, const char* name,
                                  const char* older) {
  const base::JsonValue* found = object.Find(name);
  return found != nullptr ? found : object.Find(older);
}

}  // namespace

bool LooksLikeVtpm(const std::map<std::string, std::string>& files) {
  return files.contains(kHclFile);
}

absl::StatusOr<Evidence> FromFiles(const std::map<std::string, std::string>& files) {
  const auto take = [&](const char* name, std::string* out) {
    const auto found = files.find(name);
    if (found != files.end()) *out = found->second;
    return found != files.end();
  };
  VtpmEvidence evidence;
  std::vector<std::string> values;
  if (!take(kHclFile, &evidence.hcl_report)) return Problem(kHclFile, "is missing");
  take(kTdQuoteFile, &evidence.td_quote);
  take(kAkFile, &evidence.ak_public);
  std::string bytes;
  if (take(kMessageFile, &evidence.quote)) {
    if (!take(kSignatureFile, &evidence.signature)) return Problem(kSignatureFile, "is missing");
    if (take(kValuesFile, &bytes)) {
      auto split = SplitValues(bytes);
      if (!split.has_value()) return Problem(kValuesFile, "is not some values of 32 bytes");
      values = *std::move(split);
    }
  } else if (take(kQuoteFile, &bytes)) {
    if (absl::Status read = ReadQuoteFile(bytes, &evidence, &values); !read.ok()) return read;
  } else {
    return Problem("tpm-quote.msg and quote.bin", "are missing: one of them has to be there");
  }
  return Finish(std::move(evidence), {}, values);
}

absl::StatusOr<Evidence> FromJson(std::string_view text) {
  absl::StatusOr<base::JsonValue> document = base::ParseJson(text);
  if (!document.ok()) return document.status();
  const base::JsonValue* wrapped = document->Find("evidence");
  const base::JsonValue& root = wrapped == nullptr ? *document : *wrapped;
  const base::JsonValue* quote = FindEither(root, "tpm_quote", "quote");
  if (quote == nullptr) return Problem("tpm_quote", "is missing");
  VtpmEvidence evidence;
  const struct {
    const base::JsonValue* value;
    std::string* out;
    const char* name;
  } parts[] = {{FindEither(root, "hcl_report", "report"), &evidence.hcl_report, "hcl_report"},
               {quote->Find("message"), &evidence.quote, "tpm_quote.message"},
               {quote->Find("signature"), &evidence.signature, "tpm_quote.signature"}};
  for (const auto& part : parts) {
    std::optional<std::string> bytes = JsonBytes(part.value);
    if (!bytes.has_value()) return Problem(part.name, "is missing, or of no known form");
    *part.out = *std::move(bytes);
  }
  if (const base::JsonValue* td = root.Find("td_quote"); td != nullptr) {
    std::optional<std::string> bytes = JsonBytes(td);
    if (!bytes.has_value()) return Problem("td_quote", "is of no known form");
    evidence.td_quote = *std::move(bytes);
  }
  std::vector<std::string> certificates, values;
  if (const base::JsonValue* vcek = root.Find("vcek"); vcek != nullptr) {
    const absl::Status read = AddJsonCertificates(*vcek, &certificates);
    if (!read.ok()) return Problem("vcek", std::string(read.message()));
  }
  const base::JsonValue* pcrs = quote->Find("pcrs");
  const auto* list = pcrs == nullptr ? nullptr : std::get_if<base::JsonValue::Array>(&pcrs->value);
  if (list != nullptr) {
    for (const base::JsonValue& pcr : *list) {
      std::optional<std::string> value = JsonBytes(&pcr);
      if (!value.has_value()) return Problem("tpm_quote.pcrs", "is of no known form");
      values.push_back(*std::move(value));
    }
  }
  return Finish(std::move(evidence), std::move(certificates), values);
}

}  // namespace caravan::attestation::tpm
