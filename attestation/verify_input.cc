// SPDX-License-Identifier: Apache-2.0
#include "attestation/verify_input.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attestation/hex.h"
#include "attestation/x509.h"

namespace caravan::attestation {
namespace {

constexpr size_t kSnpReportSize = 1184;
constexpr size_t kSnpResponseHeader = 32;  // status, size, reserved (linux sev-guest.h)
constexpr size_t kQuoteHeader = 48;
constexpr size_t kTableEntry = 24;  // guid[16], u32 offset, u32 length (AMD 56421, GHCB)
constexpr size_t kMaxTableEntries = 32;

uint32_t Little32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// The bytes that a text of hexadecimal or base64 stands for; nullopt for anything else.
std::optional<std::string> DecodeText(std::string_view text) {
  std::string dense;
  for (unsigned char c : text) {
    if (absl::ascii_isspace(c)) continue;
    if (!absl::ascii_isprint(c)) return std::nullopt;
    dense.push_back(static_cast<char>(c));
  }
  if (dense.empty()) return std::nullopt;
  if (dense.starts_with("0x")) dense.erase(0, 2);
  if (std::optional<std::string> bytes = FromHex(dense); bytes.has_value()) return bytes;
  std::string bytes;
  if (absl::Base64Unescape(dense, &bytes) || absl::WebSafeBase64Unescape(dense, &bytes)) {
    return bytes;
  }
  return std::nullopt;
}

// Calls `take` for each entry of a GUIDed certificate table; false when it is none.
template <typename Take>
bool ForEachTableEntry(std::string_view table, Take take) {
  for (size_t i = 0; i < kMaxTableEntries; ++i) {
    if (table.size() < (i + 1) * kTableEntry) return false;
    const std::string_view entry = table.substr(i * kTableEntry, kTableEntry);
    if (IsZero(entry)) return i > 0;
    const size_t offset = Little32(entry, 16);
    const size_t length = Little32(entry, 20);
    if (offset > table.size() || length > table.size() - offset || length == 0) return false;
    take(table.substr(offset, length));
  }
  return false;
}

// A report whose version and signature algorithm are plausible at `at`.
bool HasReportAt(std::string_view bytes, size_t at) {
  if (bytes.size() < at + kSnpReportSize) return false;
  const uint32_t version = Little32(bytes, at);
  return version >= 1 && version <= 64 && Little32(bytes, at + 0x34) <= 16 &&
         Little32(bytes, at + 0x4C) == 0;
}

absl::StatusOr<EvidenceSet> TakeSnp(std::string_view bytes) {
  size_t at = 0;
  // SNP_GET_REPORT's header is {status 0, size 1184, reserved}.
  if (bytes.size() >= kSnpResponseHeader + kSnpReportSize && Little32(bytes, 0) == 0 &&
      Little32(bytes, 4) == kSnpReportSize) {
    at = kSnpResponseHeader;
  }
  if (bytes.size() < at + kSnpReportSize) {
    return absl::InvalidArgumentError(absl::StrCat("evidence: ", bytes.size() - at,
                                                   " bytes, an snp report has ", kSnpReportSize));
  }
  Evidence item{EvidenceKind::kSevSnp, std::string(bytes.substr(at, kSnpReportSize)), {}};
  const std::string_view rest = bytes.substr(at + kSnpReportSize);
  if (!IsZero(rest)) {
    std::string problem;
    const bool table = ForEachTableEntry(rest, [&](std::string_view der) {
      if (der.size() > kMaxCertificateSize || item.certificates.size() >= kMaxCertificates) {
        problem = "certificate table holds too much";
      } else {
        item.certificates.emplace_back(der);
      }
    });
    if (!table) {
      problem = absl::StrCat(rest.size(), " bytes follow the report and are no certificate table");
    }
    if (!problem.empty()) return absl::InvalidArgumentError(absl::StrCat("evidence: ", problem));
  }
  return EvidenceSet{{std::move(item)}};
}

// Intel's header: u16 version, u16 key type, u32 TEE type (0 SGX, 0x81 TDX).
std::optional<EvidenceKind> QuoteKind(std::string_view bytes) {
  if (bytes.size() < kQuoteHeader) return std::nullopt;
  const uint32_t version = Little32(bytes, 0) & 0xFFFF;
  const uint32_t key_type = Little32(bytes, 0) >> 16;
  if (version < 3 || version > 5 || key_type < 2 || key_type > 3) return std::nullopt;
  if (version == 3) return EvidenceKind::kSgx;
  const uint32_t tee = Little32(bytes, 4);
  if (tee == 0x81) return EvidenceKind::kTdx;
  return tee == 0 ? std::optional(EvidenceKind::kSgx) : std::nullopt;
}

std::optional<EvidenceKind> GuessKind(std::string_view bytes) {
  if (const auto quote = QuoteKind(bytes); quote.has_value()) return quote;
  // SPDM 1.1 GET_MEASUREMENTS, all blocks, signed.
  if (bytes.size() > 37 && bytes.substr(0, 4) == std::string_view("\x11\xE0\x01\xFF", 4)) {
    return EvidenceKind::kNvidia;
  }
  if (HasReportAt(bytes, 0) || HasReportAt(bytes, kSnpResponseHeader)) {
    return EvidenceKind::kSevSnp;
  }
  return std::nullopt;
}

absl::Status AddCertificate(std::string_view der, Endorsements* out) {
  absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
  if (!certificate.ok()) return certificate.status();
  if (out->certificates.size() + out->crls.size() >= kMaxEndorsements) {
    return absl::InvalidArgumentError(absl::StrCat("over ", kMaxEndorsements, " endorsements"));
  }
  const auto& have = out->certificates;
  if (std::find(have.begin(), have.end(), certificate->der()) == have.end()) {
    out->certificates.push_back(certificate->der());
  }
  return absl::OkStatus();
}

absl::Status AddCrl(std::string_view der, Endorsements* out) {
  absl::StatusOr<Crl> crl = Crl::Parse(der);
  if (!crl.ok()) return crl.status();
  if (out->certificates.size() + out->crls.size() >= kMaxEndorsements) {
    return absl::InvalidArgumentError(absl::StrCat("over ", kMaxEndorsements, " endorsements"));
  }
  out->crls.emplace_back(der);
  return absl::OkStatus();
}

absl::Status AddPem(std::string_view text, Endorsements* out) {
  const std::unique_ptr<BIO, OpensslDelete<BIO_free_all>> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  int found = 0;
  absl::Status status;
  while (bio != nullptr && status.ok()) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(bio.get(), &name, &header, &data, &size) != 1) break;
    const std::string_view der(reinterpret_cast<char*>(data), static_cast<size_t>(size));
    const std::string_view type(name);
    if (type == PEM_STRING_X509 || type == PEM_STRING_X509_OLD) {
      status = AddCertificate(der, out);
      ++found;
    } else if (type == PEM_STRING_X509_CRL) {
      status = AddCrl(der, out);
      ++found;
    }
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("pem block ", found, ": ", status.message()));
  }
  if (ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    return absl::InvalidArgumentError(absl::StrCat("pem block ", found + 1, " is malformed"));
  }
  if (found == 0) {
    return absl::InvalidArgumentError("no certificate or revocation list among the pem blocks");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EvidenceSet> DetectEvidence(std::string_view bytes,
                                           std::optional<EvidenceKind> kind) {
  if (bytes.size() > kMaxInputSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence: ", bytes.size(), " bytes, at most ", kMaxInputSize));
  }
  const std::optional<std::string> decoded = DecodeText(bytes);
  const std::string_view raw = decoded.has_value() ? std::string_view(*decoded) : bytes;
  if (!kind.has_value()) kind = GuessKind(raw);
  if (!kind.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence: ", raw.size(),
                     " bytes that look like no known report or quote; name the kind if you know"));
  }
  if (*kind == EvidenceKind::kSevSnp) return TakeSnp(raw);
  if (raw.size() > kMaxEvidenceSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence: ", raw.size(), " bytes, at most ", kMaxEvidenceSize));
  }
  return EvidenceSet{{{*kind, std::string(raw), {}}}};
}

absl::Status ParseEndorsements(std::string_view bytes, Endorsements* endorsements) {
  if (bytes.size() > kMaxInputSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("endorsements: ", bytes.size(), " bytes, at most ", kMaxInputSize));
  }
  if (bytes.find("-----BEGIN ") != std::string_view::npos) return AddPem(bytes, endorsements);
  const absl::Status certificate = AddCertificate(bytes, endorsements);
  if (certificate.ok() || AddCrl(bytes, endorsements).ok()) return absl::OkStatus();
  absl::Status entry;
  const bool table = ForEachTableEntry(bytes, [&](std::string_view der) {
    if (entry.ok()) entry = AddCertificate(der, endorsements);
  });
  if (table) return entry;
  return absl::InvalidArgumentError(
      absl::StrCat("neither pem, nor a certificate table, nor DER: ", certificate.message()));
}

}  // namespace caravan::attestation
