// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/certificate_table.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/ocsp.h"
#include "attestation/pem.h"
#include "attestation/verify_input.h"
#include "attestation/x509.h"
#include "base/hex.h"
#include "base/json.h"

namespace caravan::attestation {
namespace {

// Open Enclave's and Intel's sgx_ql_qve_collateral: u16 major, u16 minor, u32 TEE type, seven times
// {u64 pointer, u64 size}, then the seven parts, each as long as it says.
constexpr size_t kQveHeader = 0x78;
constexpr size_t kQveParts = 7;

absl::Status CheckRoom(const Endorsements& out) {
  const size_t count = out.certificates.size() + out.crls.size() + out.documents.size() +
                       out.rims.size() + out.ocsp_responses.size();
  if (count < kMaxEndorsements) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("over ", kMaxEndorsements, " endorsements"));
}

void AddOnce(std::string bytes, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), bytes) == list->end()) {
    list->push_back(std::move(bytes));
  }
}

absl::Status AddCertificate(std::string_view der, Endorsements* out) {
  absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
  if (!certificate.ok()) return certificate.status();
  if (absl::Status room = CheckRoom(*out); !room.ok()) return room;
  AddOnce(certificate->der(), &out->certificates);
  return absl::OkStatus();
}

absl::Status AddCrl(std::string_view der, Endorsements* out) {
  absl::StatusOr<Crl> crl = Crl::Parse(der);
  if (!crl.ok()) return crl.status();
  if (absl::Status room = CheckRoom(*out); !room.ok()) return room;
  AddOnce(std::string(der), &out->crls);
  return absl::OkStatus();
}

absl::Status AddDocument(std::string text, Endorsements* out) {
  if (absl::Status room = CheckRoom(*out); !room.ok()) return room;
  AddOnce(std::move(text), &out->documents);
  return absl::OkStatus();
}

bool LooksLikeRim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<' &&
         text.find("SoftwareIdentity") != std::string_view::npos;
}

absl::Status AddRim(std::string_view text, Endorsements* out) {
  const absl::StatusOr<nvidia::SignedDocument> document = nvidia::SignedDocument::Parse(text);
  if (!document.ok()) return document.status();
  if (absl::Status room = CheckRoom(*out); !room.ok()) return room;
  AddOnce(std::string(text), &out->rims);
  return absl::OkStatus();
}

absl::Status AddOcspResponse(std::string_view der, Endorsements* out) {
  if (absl::Status form = CheckOcspForm(der); !form.ok()) return form;
  if (absl::Status room = CheckRoom(*out); !room.ok()) return room;
  AddOnce(std::string(der), &out->ocsp_responses);
  return absl::OkStatus();
}

absl::Status AddPem(std::string_view text, Endorsements* out) {
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(text, kMaxEndorsements);
  if (!blocks.ok()) return blocks.status();
  size_t found = 0;
  for (const PemBlock& block : *blocks) {
    absl::Status status;
    if (block.type == "CERTIFICATE" || block.type == "X509 CERTIFICATE") {
      status = AddCertificate(block.bytes, out);
    } else if (block.type == "X509 CRL") {
      status = AddCrl(block.bytes, out);
    } else {
      continue;
    }
    ++found;
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("pem block ", found, ": ", status.message()));
    }
  }
  if (found == 0) {
    return absl::InvalidArgumentError("no certificate or revocation list among the pem blocks");
  }
  return absl::OkStatus();
}

// A list in DER, PEM or the hexadecimal text of either service version.
absl::Status AddCrlText(std::string_view text, Endorsements* out) {
  // First as it is: what ends in a space or a zero may be a signature.
  if (AddCrl(text, out).ok()) return absl::OkStatus();
  while (!text.empty() && (text.back() == '\0' || absl::ascii_isspace(text.back()))) {
    text.remove_suffix(1);
  }
  if (text.find("-----BEGIN ") != std::string_view::npos) return AddPem(text, out);
  if (const std::optional<std::string> bytes = base::FromHex(text); bytes.has_value()) {
    return AddCrl(*bytes, out);
  }
  return AddCrl(text, out);
}

// Intel's answer, put together from a body and a signature that a tool keeps apart. The body goes
// in as it is: its signature covers its exact bytes.
std::string JoinDocument(const char* name, const std::string& body, const std::string& signature) {
  return absl::StrCat("{\"", name, "\":", body, ",\"signature\":\"", signature, "\"}");
}

// All of a quote's collateral as the members of one object, as dcap-qvl and its kin keep it.
absl::Status AddCollateralObject(const base::JsonValue& object, Endorsements* out) {
  absl::Status status;
  base::JsonReader reader(&object, "collateral", &status);
  for (const char* chain :
       {"pck_crl_issuer_chain", "tcb_info_issuer_chain", "qe_identity_issuer_chain"}) {
    const std::string pem = reader.Text(chain);
    if (status.ok()) status = AddPem(pem, out);
  }
  for (const char* crl : {"root_ca_crl", "pck_crl"}) {
    const std::string text = reader.Text(crl);
    if (status.ok()) status = AddCrlText(text, out);
  }
  for (const auto& [member, name] :
       {std::pair("tcb_info", "tcbInfo"), std::pair("qe_identity", "enclaveIdentity")}) {
    const std::string body = reader.Text(member);
    const std::string signature = reader.Text(absl::StrCat(member, "_signature"));
    if (!base::FromHex(signature).has_value()) reader.Fail(member, "has a malformed signature");
    if (status.ok()) status = AddDocument(JoinDocument(name, body, signature), out);
  }
  if (status.ok() && reader.Has("pck_certificate_chain")) {
    const std::string pem = reader.Text("pck_certificate_chain");
    if (status.ok()) status = AddPem(pem, out);
  }
  return status;
}

// An answer of NVIDIA's RIM service: the manifest in base64.
absl::Status AddRimObject(const base::JsonValue& object, Endorsements* out) {
  absl::Status status;
  base::JsonReader reader(&object, "rim service's answer", &status);
  const std::string encoded = reader.Text("rim");
  if (!status.ok()) return status;
  std::string text;
  if (!absl::Base64Unescape(encoded, &text)) {
    return absl::InvalidArgumentError("rim service's answer: its rim is no base64");
  }
  return AddRim(text, out);
}

absl::Status AddJson(std::string_view text, Endorsements* out) {
  absl::StatusOr<base::JsonValue> value = base::ParseJson(text);
  if (!value.ok()) return value.status();
  if (value->Find("tcbInfo") != nullptr || value->Find("enclaveIdentity") != nullptr) {
    return AddDocument(std::string(text), out);
  }
  // A list of evaluation numbers says which collateral there is; the policy sets the floor.
  if (value->Find("tcbEvaluationDataNumbers") != nullptr) return absl::OkStatus();
  if (value->Find("tcb_info") != nullptr) return AddCollateralObject(*value, out);
  if (value->Find("rim") != nullptr) return AddRimObject(*value, out);
  return absl::InvalidArgumentError(
      "json with none of tcbInfo, enclaveIdentity, tcb_info, rim: no collateral of intel's or "
      "nvidia's");
}

bool LooksLikeQveCollateral(std::string_view bytes) {
  if (bytes.size() <= kQveHeader) return false;
  const uint32_t version = Little32(bytes, 0) & 0xFFFF;
  const uint32_t tee = Little32(bytes, 4);
  size_t total = kQveHeader;
  for (size_t i = 0; i < kQveParts; ++i) {
    const size_t at = 8 + 16 * i + 8;
    if (Little32(bytes, at + 4) != 0) return false;
    total += Little32(bytes, at);
  }
  return version >= 1 && version <= 4 && (tee == 0 || tee == 0x81) && total == bytes.size();
}

absl::Status AddQveCollateral(std::string_view bytes, Endorsements* out) {
  size_t at = kQveHeader;
  for (size_t i = 0; i < kQveParts; ++i) {
    const size_t size = Little32(bytes, 8 + 16 * i + 8);
    std::string_view part = bytes.substr(at, size);
    at += size;
    while (!part.empty() && part.back() == '\0') part.remove_suffix(1);
    // PCK CRL issuer chain, root CRL, PCK CRL, then twice {issuer chain, document}.
    const bool crl = i == 1 || i == 2;
    const bool json = i == 4 || i == 6;
    const absl::Status status = crl    ? AddCrlText(part, out)
                                : json ? AddJson(part, out)
                                       : AddPem(part, out);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", i + 1, " of the collateral: ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status AddAny(std::string_view bytes, Endorsements* out) {
  if (LooksLikeQveCollateral(bytes)) return AddQveCollateral(bytes, out);
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') return AddJson(bytes, out);
  if (LooksLikeRim(bytes)) return AddRim(bytes, out);
  if (bytes.find("-----BEGIN ") != std::string_view::npos) return AddPem(bytes, out);
  const absl::Status certificate = AddCertificate(bytes, out);
  if (certificate.ok() || AddCrlText(bytes, out).ok() || AddOcspResponse(bytes, out).ok()) {
    return absl::OkStatus();
  }
  absl::Status entry;
  const bool table = ForEachTableEntry(bytes, [&](std::string_view der) {
    if (entry.ok()) entry = AddCertificate(der, out);
  });
  if (table) return entry;
  return absl::InvalidArgumentError(
      absl::StrCat("neither pem, nor json, nor a manifest, nor a certificate table, nor quote "
                   "collateral, nor DER: ",
                   certificate.message()));
}

}  // namespace

absl::Status ParseEndorsements(std::string_view bytes, Endorsements* endorsements) {
  if (bytes.size() > kMaxInputSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("endorsements: ", bytes.size(), " bytes, at most ", kMaxInputSize));
  }
  return AddAny(bytes, endorsements);
}

}  // namespace caravan::attestation
