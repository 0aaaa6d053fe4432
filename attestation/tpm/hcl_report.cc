// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/hcl_report.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {
namespace {

constexpr uint32_t kAkRequest = 2;  // the request that reports are made for
constexpr uint32_t kRequestDataVersion = 1;
constexpr uint32_t kSha256 = 1;
constexpr size_t kRequestData = 20;  // five integers before the claims
constexpr size_t kSnpReportData = 0x50;
constexpr size_t kTdReportData = 128;
constexpr size_t kReportDataSize = 64;
constexpr size_t kModulus = 256;
constexpr std::string_view kExponent("\x01\x00\x01", 3);
constexpr size_t kMaxKeys = 16;

absl::Status Unexpected(std::string_view field, uint32_t value, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("hcl report: ", std::string(field), " is ", value,
                                                 ", expected ", std::string(expected)));
}

uint32_t Word(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

absl::Status CheckHeader(std::string_view bytes) {
  if (bytes.size() < kHclHeader + kHardwareReport + kRequestData) {
    return absl::InvalidArgumentError(absl::StrCat("hcl report: ", bytes.size(),
                                                   " bytes, a report has more than ",
                                                   kHclHeader + kHardwareReport + kRequestData));
  }
  if (!bytes.starts_with("HCLA")) {
    return absl::InvalidArgumentError("hcl report: does not begin with HCLA");
  }
  const uint32_t version = Word(bytes, 4);
  if (version != 1 && version != 2) return Unexpected("version", version, "1 or 2");
  if (const uint32_t request = Word(bytes, 12); request != kAkRequest) {
    return Unexpected("request type", request, "2");
  }
  for (size_t at = 16; at < kHclHeader; at += 4) {
    if (Word(bytes, at) != 0) return Unexpected("status or a reserved field", Word(bytes, at), "0");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Base64Url(const std::string& text, std::string_view what) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(text, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("runtime claims: ", std::string(what), " of HCLAkPub is no base64url"));
  }
  return bytes;
}

absl::Status ReadAk(base::JsonReader* key, absl::Status* status, RuntimeClaims* claims) {
  const std::string type = key->Text("kty");
  const std::vector<std::string> operations = key->Texts("key_ops", kMaxKeys);
  const std::string modulus = key->Text("n");
  const std::string exponent = key->Text("e");
  if (!status->ok()) return *status;
  if (type != "RSA" || operations != std::vector<std::string>{"sign"}) {
    return absl::InvalidArgumentError(
        "runtime claims: HCLAkPub is no RSA key for signing and nothing else");
  }
  absl::StatusOr<std::string> n = Base64Url(modulus, "n");
  if (!n.ok()) return n.status();
  absl::StatusOr<std::string> e = Base64Url(exponent, "e");
  if (!e.ok()) return e.status();
  if (n->size() != kModulus || static_cast<uint8_t>((*n)[0]) < 0x80 || *e != kExponent) {
    return absl::InvalidArgumentError(
        absl::StrCat("runtime claims: HCLAkPub has a modulus of ", n->size(),
                     " bytes, expected 2048 bits, and the exponent 65537"));
  }
  claims->ak_modulus = *std::move(n);
  claims->ak_exponent = *std::move(e);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HclReport> ParseHclReport(std::string_view bytes) {
  if (absl::Status header = CheckHeader(bytes); !header.ok()) return header;
  const std::string_view data = bytes.substr(kHclHeader + kHardwareReport);
  const uint32_t data_size = Word(data, 0);
  const uint32_t claims_size = Word(data, 16);
  if (claims_size == 0 || claims_size > kMaxClaims || claims_size > data.size() - kRequestData) {
    return absl::InvalidArgumentError(absl::StrCat("hcl report: runtime claims of ", claims_size,
                                                   " bytes, expected 1 to ", kMaxClaims, " of the ",
                                                   data.size() - kRequestData, " that are there"));
  }
  if (data_size != kRequestData + claims_size) {
    return Unexpected("data size", data_size, absl::StrCat(kRequestData + claims_size));
  }
  const size_t size = kHclHeader + kHardwareReport + data_size;
  if (Word(bytes, 8) != size) return Unexpected("report size", Word(bytes, 8), absl::StrCat(size));
  if (Word(data, 4) != kRequestDataVersion) {
    return Unexpected("version of the request data", Word(data, 4), "1");
  }
  if (Word(data, 12) != kSha256) return Unexpected("hash type", Word(data, 12), "1 (SHA-256)");

  HclReport report;
  const std::string_view area = bytes.substr(kHclHeader, kHardwareReport);
  switch (Word(data, 8)) {
    case static_cast<uint32_t>(HardwareType::kSnp):
      report.type = HardwareType::kSnp;
      report.hardware_report = area;
      report.report_data = area.substr(kSnpReportData, kReportDataSize);
      break;
    case static_cast<uint32_t>(HardwareType::kTdx):
      report.type = HardwareType::kTdx;
      report.hardware_report = area.substr(0, kTdReport);
      report.report_data = area.substr(kTdReportData, kReportDataSize);
      if (area.find_first_not_of('\0', kTdReport) != std::string_view::npos) {
        return absl::InvalidArgumentError("hcl report: bytes after the td report are not zero");
      }
      break;
    default:
      return Unexpected("report type", Word(data, 8), "2 (sev-snp) or 4 (tdx)");
  }
  report.claims = data.substr(kRequestData, claims_size);
  report.trailing = bytes.substr(size);
  return report;
}

absl::StatusOr<RuntimeClaims> ParseRuntimeClaims(std::string_view json) {
  absl::StatusOr<base::JsonValue> value = base::ParseJson(json);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("runtime claims: ", value.status().message()));
  }
  absl::Status status;
  base::JsonReader root(&*value, "runtime claims", &status);
  RuntimeClaims claims;
  int found = 0;
  for (base::JsonReader& key : root.Objects("keys", kMaxKeys)) {
    if (key.Text("kid") != "HCLAkPub" || !status.ok()) continue;
    ++found;
    if (absl::Status ak = ReadAk(&key, &status, &claims); !ak.ok()) return ak;
  }
  if (!status.ok()) return status;
  if (found != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("runtime claims: ", found, " keys named HCLAkPub, expected one"));
  }
  if (!root.Has("vm-configuration")) return claims;
  base::JsonReader machine = root.Object("vm-configuration");
  if (machine.Has("vmUniqueId")) claims.vm_id = machine.Text("vmUniqueId");
  if (machine.Has("secure-boot")) claims.secure_boot = machine.Boolean("secure-boot");
  if (!status.ok()) return status;
  return claims;
}

}  // namespace caravan::attestation::tpm
