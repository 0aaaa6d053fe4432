// SPDX-License-Identifier: Apache-2.0
#include "attestation/evidence.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

// No set of CPUs, GPUs and switches of one machine has more.
constexpr uint32_t kMaxItems = 64;

bool IsKnown(uint16_t kind) {
  return kind >= static_cast<uint16_t>(EvidenceKind::kSevSnp) &&
         kind <= static_cast<uint16_t>(EvidenceKind::kVtpm);
}

std::string ToString(absl::Span<const uint8_t> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<Evidence> ReadItem(crypto::ByteReader& reader, uint32_t index) {
  const std::string where = absl::StrCat("evidence item ", index);
  Evidence item;
  absl::StatusOr<uint16_t> kind = reader.U16(absl::StrCat(where, ": kind"));
  if (!kind.ok()) return kind.status();
  if (!IsKnown(*kind)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": kind is ", *kind, ", expected 1 to 5"));
  }
  item.kind = static_cast<EvidenceKind>(*kind);
  auto report = reader.Prefixed(kMaxEvidenceSize, absl::StrCat(where, ": report"));
  if (!report.ok()) return report.status();
  item.report = ToString(*report);
  absl::StatusOr<uint16_t> count = reader.U16(absl::StrCat(where, ": certificate count"));
  if (!count.ok()) return count.status();
  if (*count > kMaxCertificates) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", *count, " certificates, at most ", kMaxCertificates));
  }
  for (uint16_t i = 0; i < *count; ++i) {
    auto certificate =
        reader.Prefixed(kMaxCertificateSize, absl::StrCat(where, ": certificate ", i));
    if (!certificate.ok()) return certificate.status();
    item.certificates.push_back(ToString(*certificate));
  }
  return item;
}

}  // namespace

std::string_view Name(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::kSevSnp:
      return "sev-snp";
    case EvidenceKind::kTdx:
      return "tdx";
    case EvidenceKind::kSgx:
      return "sgx";
    case EvidenceKind::kNvidia:
      return "nvidia";
    case EvidenceKind::kVtpm:
      return "vtpm";
  }
  return "unknown";
}

std::string Encode(const EvidenceSet& set) {
  crypto::ByteWriter writer;
  writer.U32(static_cast<uint32_t>(set.items.size()));
  for (const Evidence& item : set.items) {
    writer.U16(static_cast<uint16_t>(item.kind));
    writer.Prefixed(item.report);
    writer.U16(static_cast<uint16_t>(item.certificates.size()));
    for (const std::string& certificate : item.certificates) writer.Prefixed(certificate);
  }
  return std::move(writer).Take();
}

absl::StatusOr<EvidenceSet> DecodeEvidenceSet(absl::Span<const uint8_t> bytes) {
  if (bytes.size() > kMaxEvidenceSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence set: ", bytes.size(), " bytes, at most ", kMaxEvidenceSize));
  }
  crypto::ByteReader reader(bytes);
  absl::StatusOr<uint32_t> count = reader.U32("evidence set: item count");
  if (!count.ok()) return count.status();
  if (*count > kMaxItems) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence set: ", *count, " items, at most ", kMaxItems));
  }
  EvidenceSet set;
  for (uint32_t i = 0; i < *count; ++i) {
    absl::StatusOr<Evidence> item = ReadItem(reader, i);
    if (!item.ok()) return item.status();
    set.items.push_back(*std::move(item));
  }
  if (absl::Status end = reader.Finish("evidence set"); !end.ok()) return end;
  return set;
}

}  // namespace caravan::attestation
