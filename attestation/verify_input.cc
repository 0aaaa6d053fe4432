// SPDX-License-Identifier: Apache-2.0
#include "attestation/verify_input.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attestation/certificate_table.h"
#include "attestation/cpu_json_input.h"
#include "attestation/device_list_input.h"
#include "attestation/json_bytes.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/input.h"
#include "base/hex.h"
#include "base/json.h"

namespace caravan::attestation {
namespace {

constexpr size_t kSnpReportSize = 1184;
constexpr size_t kSnpResponseHeader = 32;  // status, size, reserved (linux sev-guest.h)
constexpr size_t kQuoteHeader = 48;

// The bytes that a file of hexadecimal or base64 stands for; nullopt for anything else.
std::optional<std::string> DecodeText(std::string_view text) {
  std::string dense;
  for (unsigned char c : text) {
    if (absl::ascii_isspace(c)) continue;
    if (!absl::ascii_isprint(c)) return std::nullopt;
    dense.push_back(static_cast<char>(c));
  }
  if (dense.empty()) return std::nullopt;
  return TextBytes(dense);
}

// A report whose version and signature algorithm are plausible at `at`. Reserved bits tell one from
// other bytes behind a header alone: of a report itself the verifier names those that it does not
// know.
bool HasReportAt(std::string_view bytes, size_t at) {
  if (bytes.size() < at + kSnpReportSize) return false;
  const uint32_t version = Little32(bytes, at);
  return version >= 1 && version <= 64 && Little32(bytes, at + 0x34) <= 16 &&
         (at == 0 || Little32(bytes, at + 0x4C) == 0);
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

// The one that a tool for Azure's confidential VMs writes.
bool LooksLikeVtpmJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  const bool newer = text.find("\"hcl_report\"") != std::string_view::npos;
  const bool older = text.find("\"report\"") != std::string_view::npos &&
                     text.find("\"pcrs\"") != std::string_view::npos;
  return newer || older;
}

absl::StatusOr<EvidenceSet> TakeVtpm(std::string_view bytes) {
  if (LooksLikeVtpmJson(bytes)) {
    absl::StatusOr<Evidence> item = tpm::FromJson(bytes);
    if (!item.ok()) return item.status();
    return EvidenceSet{{*std::move(item)}};
  }
  if (bytes.starts_with("HCLA")) {
    return absl::InvalidArgumentError(
        "evidence: an HCL report alone is as old as the last boot; give the folder that holds a "
        "TPM quote beside it");
  }
  return EvidenceSet{{{EvidenceKind::kVtpm, std::string(bytes), {}}}};
}

std::optional<EvidenceKind> GuessKind(std::string_view bytes) {
  if (bytes.starts_with(tpm::kContainerMagic) || bytes.starts_with("HCLA") ||
      LooksLikeVtpmJson(bytes)) {
    return EvidenceKind::kVtpm;
  }
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

// Takes input that is no text, except the JSON of vTPMs.
absl::StatusOr<EvidenceSet> TakeRaw(std::string_view raw, std::optional<EvidenceKind> kind) {
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
  if (*kind == EvidenceKind::kVtpm) return TakeVtpm(raw);
  return EvidenceSet{{{*kind, std::string(raw), {}}}};
}

constexpr char kNoReport[] = "no quote, attestation_report, report, SnpReport or outblob";

absl::Status JsonProblem(absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("evidence: json: ", problem));
}

// One CPU's evidence, with the chain that the document lists for it.
absl::StatusOr<EvidenceSet> TakeCpu(CpuJson cpu, std::optional<EvidenceKind> kind) {
  absl::StatusOr<EvidenceSet> set = TakeRaw(cpu.bytes, kind);
  if (!set.ok()) return set;
  std::vector<std::string>& certificates = set->items[0].certificates;
  for (std::string& der : cpu.certificates) certificates.push_back(std::move(der));
  if (certificates.size() <= kMaxCertificates) return set;
  return JsonProblem(absl::StrCat("over ", kMaxCertificates, " certificates"));
}

// Takes JSON that holds evidence of a CPU, of devices, or of both.
absl::StatusOr<EvidenceSet> TakeJson(std::string_view text, std::optional<EvidenceKind> kind) {
  const absl::StatusOr<base::JsonValue> document = base::ParseJson(text);
  if (!document.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("evidence: ", document.status().message()));
  }
  EvidenceSet set;
  if (kind != EvidenceKind::kNvidia) {
    absl::StatusOr<std::optional<CpuJson>> cpu = ReadCpuJson(*document);
    if (!cpu.ok()) return JsonProblem(cpu.status().message());
    if (cpu->has_value()) {
      absl::StatusOr<EvidenceSet> taken = TakeCpu(**std::move(cpu), kind);
      if (!taken.ok() || !ListsDevices(*document)) return taken;
      set = *std::move(taken);
    } else if (kind.has_value()) {
      return JsonProblem(kNoReport);
    }
  }
  absl::StatusOr<EvidenceSet> devices = ReadDeviceList(*document);
  if (!devices.ok()) {
    const std::string list = set.items.empty() ? absl::StrCat(kNoReport, ", and no") : "its";
    return JsonProblem(absl::StrCat(list, " list of devices: ", devices.status().message()));
  }
  for (Evidence& item : devices->items) set.items.push_back(std::move(item));
  return set;
}

}  // namespace

absl::StatusOr<EvidenceSet> DetectEvidence(std::string_view bytes,
                                           std::optional<EvidenceKind> kind) {
  if (bytes.size() > kMaxInputSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("evidence: ", bytes.size(), " bytes, at most ", kMaxInputSize));
  }
  if (LooksLikeJson(bytes) && kind != EvidenceKind::kVtpm &&
      (kind.has_value() || !LooksLikeVtpmJson(bytes))) {
    return TakeJson(bytes, kind);
  }
  const std::optional<std::string> decoded = DecodeText(bytes);
  return TakeRaw(decoded.has_value() ? std::string_view(*decoded) : bytes, kind);
}

}  // namespace caravan::attestation
