// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/show/parts.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/tpm/quote.h"

namespace caravan::attestation::show {
namespace {

constexpr Bit kKeyBits[] = {
    {1, "fixed_tpm", "stays in this TPM"},
    {4, "fixed_parent", "stays under its parent"},
    {5, "sensitive_data_origin", "was made in this TPM"},
    {16, "restricted", "signs what the TPM says alone"},
    {17, "decrypt", "decrypts"},
    {18, "sign", "signs"},
};
// The rest of TPMA_OBJECT (TPM 2.0 part 2, 8.3): how the key may be used, not what it is.
constexpr uint64_t kOtherKeyBits = 0x000F0CF6;

void ShowHclReport(std::string_view bytes, Dump* dump) {
  const absl::StatusOr<tpm::HclReport> report = tpm::ParseHclReport(bytes);
  if (!report.ok()) return dump->Malformed(report.status());
  DumpSection& section = dump->Section("hcl_report");
  section.Add("hardware", report->type == tpm::HardwareType::kSnp ? "sev-snp" : "tdx");
  section.Add("hardware_report_data", Hex(report->report_data),
              "its first half is the digest of the runtime claims");
  section.Add("runtime_claims", std::string(report->claims));
  const absl::StatusOr<tpm::RuntimeClaims> claims = tpm::ParseRuntimeClaims(report->claims);
  if (claims.ok()) {
    DumpSection& said = dump->Section("runtime_claims");
    said.Add("vm_id", claims->vm_id);
    if (claims->secure_boot.has_value()) {
      said.Add("secure_boot", *claims->secure_boot ? "yes" : "no");
    }
    said.Add("ak_modulus", Hex(claims->ak_modulus));
    said.Add("ak_exponent", Hex(claims->ak_exponent));
  } else {
    dump->Malformed(claims.status());
  }
  if (report->type == tpm::HardwareType::kSnp) {
    ShowSnp(report->hardware_report, dump);
  } else {
    ShowTdReport(report->hardware_report, dump);
  }
}

void ShowTpmQuote(const tpm::VtpmEvidence& evidence, Dump* dump) {
  const absl::StatusOr<tpm::Quote> quote = tpm::ParseQuote(evidence.quote);
  if (!quote.ok()) return dump->Malformed(quote.status());
  DumpSection& section = dump->Section("tpm_quote");
  section.Add("extra_data", Hex(quote->extra_data), "the nonce");
  section.Add("qualified_signer", Hex(quote->qualified_signer));
  section.Add("reset_count", absl::StrCat(quote->reset_count));
  section.Add("restart_count", absl::StrCat(quote->restart_count));
  section.Add("firmware_version", Hex(quote->firmware_version));
  for (const tpm::PcrSelection& selection : quote->selections) {
    std::string indices;
    for (size_t i = 0; i < selection.indices.size(); ++i) {
      if (selection.indices[i]) absl::StrAppend(&indices, indices.empty() ? "" : " ", i);
    }
    section.Add("pcrs", indices,
                selection.hash == tpm::kTpmSha256
                    ? "of the SHA-256 bank"
                    : absl::StrCat("of the bank of algorithm ", Hex(uint64_t{selection.hash})));
  }
  section.Add("pcr_digest", Hex(quote->pcr_digest));
  section.Add("signature", Hex(evidence.signature));
  DumpSection& values = dump->Section("pcr_values");
  for (const auto& [index, value] : evidence.pcrs) {
    values.Add(absl::StrCat("pcr_", static_cast<int>(index)), HexOf(value));
  }
}

}  // namespace

void ShowTdReport(std::string_view bytes, Dump* dump) {
  if (bytes.size() != tpm::kTdReport) {
    return dump->Malformed(absl::StrCat("td report: ", bytes.size(), " bytes, expected 1024"));
  }
  // TDREPORT_STRUCT (TDX module ABI): REPORTMACSTRUCT, TEE_TCB_INFO at 256, TDINFO at 512.
  DumpSection& section = dump->Section("td_report");
  const auto add = [&](const char* name, size_t at, size_t size) {
    AddBytes(name, bytes.substr(at, size), &section);
  };
  add("report_type", 0, 4);
  add("cpu_svn", 16, 16);
  add("report_data", 128, 64);
  add("tee_tcb_svn", 264, 16);
  add("mr_seam", 280, 48);
  add("mr_signer_seam", 328, 48);
  add("td_attributes", 512, 8);
  add("xfam", 520, 8);
  add("mrtd", 528, 48);
  add("mr_config_id", 576, 48);
  add("mr_owner", 624, 48);
  add("mr_owner_config", 672, 48);
  for (size_t i = 0; i < 4; ++i) {
    AddBytes(absl::StrCat("rtmr", i), bytes.substr(720 + 48 * i, 48), &section);
  }
}

void ShowVtpm(std::string_view bytes, Dump* dump) {
  const absl::StatusOr<tpm::VtpmEvidence> evidence = tpm::DecodeVtpmEvidence(bytes);
  if (!evidence.ok()) return dump->Malformed(evidence.status());
  ShowTpmQuote(*evidence, dump);
  if (!evidence->ak_public.empty()) {
    const absl::StatusOr<tpm::PublicArea> area = tpm::ParsePublicArea(evidence->ak_public);
    if (area.ok()) {
      DumpSection& key = dump->Section("ak_public");
      AddBits("the AK's attributes", area->attributes, kKeyBits, kOtherKeyBits, &key, dump);
      key.Add("modulus", Hex(area->modulus));
      key.Add("exponent", absl::StrCat(area->exponent));
    } else {
      dump->Malformed(area.status());
    }
  }
  ShowHclReport(evidence->hcl_report, dump);
  if (!evidence->td_quote.empty()) ShowQuote(evidence->td_quote, dump);
}

}  // namespace caravan::attestation::show
