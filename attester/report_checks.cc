// SPDX-License-Identifier: Apache-2.0
#include "attester/report_checks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/certificate_table.h"

namespace caravan::attester {
namespace {

using attestation::EvidenceKind;

constexpr size_t kSnpReportSize = 1184;
constexpr size_t kSnpReportData = 0x50;
// Intel "TDX DCAP Quote Library API", A.3: header 48, version 5's body type and size 6, report data
// at 520 of the body.
constexpr size_t kTdxReportData = 48 + 520;
constexpr size_t kTdxBodyDescriptor = 6;
constexpr size_t kReportDataSize = 64;

absl::Status Lost(std::string_view where, std::string_view what) {
  return absl::DataLossError(absl::StrCat(std::string(where), ": ", std::string(what)));
}

// Where in `report` the report data stands.
absl::StatusOr<size_t> ReportDataAt(EvidenceKind kind, std::string_view report,
                                    std::string_view where) {
  if (kind == EvidenceKind::kSevSnp) {
    if (report.size() == kSnpReportSize) return kSnpReportData;
    return Lost(
        where, absl::StrCat("the report has ", report.size(), " bytes, expected ", kSnpReportSize));
  }
  if (report.size() < kTdxReportData + kTdxBodyDescriptor + kReportDataSize) {
    return Lost(where, absl::StrCat("the quote has ", report.size(), " bytes, too few for one"));
  }
  const uint32_t version = attestation::Little32(report, 0) & 0xFFFF;
  if (version != 4 && version != 5) {
    return Lost(where, absl::StrCat("the quote's version is ", version, ", expected 4 or 5"));
  }
  return version == 5 ? kTdxReportData + kTdxBodyDescriptor : kTdxReportData;
}

// GHCB specification (AMD 56421), 4.1.8.1: the GUIDs of a certificate table, in the order in which
// their certificates are handed on.
enum Slot : size_t { kLeafSlot, kIntermediateSlot, kRootSlot, kSlots };
struct KnownGuid {
  std::array<uint8_t, 16> guid;
  Slot slot;
};
constexpr KnownGuid kGuids[] = {
    // VCEK 63da758d-e664-4564-adc5-f4b93be8accd
    {{0x63, 0xda, 0x75, 0x8d, 0xe6, 0x64, 0x45, 0x64, 0xad, 0xc5, 0xf4, 0xb9, 0x3b, 0xe8, 0xac,
      0xcd},
     kLeafSlot},
    // VLEK a8074bc2-a25a-483e-aae6-39c045a0b8a1
    {{0xa8, 0x07, 0x4b, 0xc2, 0xa2, 0x5a, 0x48, 0x3e, 0xaa, 0xe6, 0x39, 0xc0, 0x45, 0xa0, 0xb8,
      0xa1},
     kLeafSlot},
    // ASK or ASVK 4ab7b379-bbac-4fe4-a02f-05aef327c782
    {{0x4a, 0xb7, 0xb3, 0x79, 0xbb, 0xac, 0x4f, 0xe4, 0xa0, 0x2f, 0x05, 0xae, 0xf3, 0x27, 0xc7,
      0x82},
     kIntermediateSlot},
    // ARK c0b406a4-a803-4952-9743-3fb6014cd0ae
    {{0xc0, 0xb4, 0x06, 0xa4, 0xa8, 0x03, 0x49, 0x52, 0x97, 0x43, 0x3f, 0xb6, 0x01, 0x4c, 0xd0,
      0xae},
     kRootSlot},
};

// Hosts write GUIDs in RFC 4122's byte order or in Microsoft's, whose first three parts are little
// endian.
bool IsGuid(std::string_view bytes, const std::array<uint8_t, 16>& guid) {
  constexpr size_t kMixed[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  bool plain = true;
  bool mixed = true;
  for (size_t i = 0; i < guid.size(); ++i) {
    plain = plain && static_cast<uint8_t>(bytes[i]) == guid[i];
    mixed = mixed && static_cast<uint8_t>(bytes[kMixed[i]]) == guid[i];
  }
  return plain || mixed;
}

}  // namespace

absl::Status CheckAnswers(EvidenceKind kind, std::string_view report,
                          const attestation::ReportData& expected, std::string_view where) {
  if (report.empty()) return Lost(where, "the report is empty");
  absl::StatusOr<size_t> at = ReportDataAt(kind, report, where);
  if (!at.ok()) return at.status();
  const std::string_view wanted(reinterpret_cast<const char*>(expected.bytes.data()),
                                expected.bytes.size());
  if (report.substr(*at, kReportDataSize) != wanted) {
    return Lost(where,
                "the report carries other report data than it was asked to: it was made for "
                "another request, or a layer below hands out one report to all");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CertificatesOfTable(std::string_view table) {
  std::vector<std::string> certificates;
  if (attestation::IsZero(table)) return certificates;
  std::string slots[kSlots];
  bool oversized = false;
  const bool whole =
      attestation::ForEachNamedTableEntry(table, [&](std::string_view guid, std::string_view der) {
        oversized = oversized || der.size() > attestation::kMaxCertificateSize;
        for (const KnownGuid& known : kGuids) {
          if (IsGuid(guid, known.guid)) slots[known.slot] = std::string(der);
        }
      });
  if (!whole || oversized) {
    return absl::DataLossError(absl::StrCat(
        "the host's certificate table of ", table.size(), " bytes is malformed",
        oversized
            ? absl::StrCat(": a certificate over ", attestation::kMaxCertificateSize, " bytes")
            : ""));
  }
  for (std::string& der : slots) {
    if (!der.empty()) certificates.push_back(std::move(der));
  }
  return certificates;
}

}  // namespace caravan::attester
