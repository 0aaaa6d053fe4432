// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/report.h"
#include "attestation/sev_snp/tcb.h"
#include "attestation/show/parts.h"

namespace caravan::attestation::show {
namespace {

using sev_snp::RawTcb;
using sev_snp::Report;

// GUEST_POLICY and PLATFORM_INFO (AMD 56860).
constexpr Bit kPolicyBits[] = {
    {16, "smt_allowed", "simultaneous multithreading may be on"},
    {17, "reserved_one", ""},
    {18, "migrate_ma", "a migration agent may be bound"},
    {19, "debug", "the host can read the guest's memory"},
    {20, "single_socket", "the guest runs on one socket alone"},
    {21, "cxl_allow", "CXL devices may be there"},
    {22, "mem_aes_256_xts", "memory is encrypted with AES-256-XTS"},
    {23, "rapl_dis", "power measurement is off"},
    {24, "ciphertext_hiding", "the host cannot read ciphertext"},
    {25, "page_swap_disable", "the host cannot swap pages"},
};
constexpr uint64_t kAbiBits = 0xFFFF;
constexpr Bit kPlatformBits[] = {
    {0, "smt_en", "simultaneous multithreading is on"},
    {1, "tsme_en", "transparent memory encryption is on"},
    {2, "ecc_en", "memory has error correction"},
    {3, "rapl_dis", "power measurement is off"},
    {4, "ciphertext_hiding_en", "the host cannot read ciphertext"},
    {5, "alias_check_complete", "memory was checked for aliases"},
    {7, "tio_en", "trusted devices are on"},
};

const char* SigningKeyName(uint8_t key) {
  switch (static_cast<sev_snp::SigningKey>(key)) {
    case sev_snp::SigningKey::kVcek:
      return "vcek";
    case sev_snp::SigningKey::kVlek:
      return "vlek";
    case sev_snp::SigningKey::kNone:
      return "none";
  }
  return "no meaning is known here";
}

void AddTcb(const char* name, const RawTcb& raw, sev_snp::Product product, DumpSection* section) {
  // Version 2 does not say which product it is of.
  const bool known = product != v1::SNP_PRODUCT_UNSPECIFIED;
  const sev_snp::Product layout = known ? product : v1::MILAN;
  std::string note = sev_snp::Describe(sev_snp::DecodeTcb(raw, layout), layout);
  if (!known) note += " (as Milan and Genoa lay it out)";
  if (sev_snp::HasReservedTcbBits(raw, layout)) note += "; reserved bytes are not zero";
  section->Add(name, HexOf(raw), std::move(note));
}

// r or s: little endian in 72 bytes.
std::string BigEndian(std::string_view part) {
  std::string bytes(part);
  std::reverse(bytes.begin(), bytes.end());
  return Hex(bytes.substr(bytes.size() - 48));
}

void ShowReport(const Report& report, Dump* dump) {
  DumpSection& head = dump->Section("report");
  head.Add("version", absl::StrCat(report.version),
           report.version > sev_snp::kNewestKnownVersion ? "newer than this program knows" : "");
  head.Add("guest_svn", absl::StrCat(report.guest_svn));
  head.Add("vmpl", absl::StrCat(report.vmpl),
           report.vmpl == sev_snp::kHostRequestedVmpl ? "the host asked for this report" : "");
  head.Add("signature_algorithm", absl::StrCat(report.signature_algorithm),
           report.signature_algorithm == sev_snp::kEcdsaP384Sha384 ? "ECDSA P-384 with SHA-384"
                                                                   : "no meaning is known here");
  AddBytes("family_id", {reinterpret_cast<const char*>(report.family_id.data()), 16}, &head);
  AddBytes("image_id", {reinterpret_cast<const char*>(report.image_id.data()), 16}, &head);

  DumpSection& identity = dump->Section("identity");
  const auto add = [&](const char* name, const auto& bytes) {
    AddBytes(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &identity);
  };
  add("report_data", report.report_data);
  add("measurement", report.measurement);
  add("host_data", report.host_data);
  add("id_key_digest", report.id_key_digest);
  add("author_key_digest", report.author_key_digest);
  add("report_id", report.report_id);
  add("report_id_ma", report.report_id_ma);
  add("chip_id", report.chip_id);
}

void ShowPlatform(const Report& report, Dump* dump) {
  DumpSection& policy = dump->Section("guest_policy");
  policy.Add(
      "abi",
      absl::StrCat(static_cast<int>(report.abi_major()), ".", static_cast<int>(report.abi_minor())),
      "the least firmware interface the guest's owner takes");
  AddBits("the guest policy", report.policy, kPolicyBits, kAbiBits, &policy, dump);
  AddBits("platform info", report.platform_info, kPlatformBits, 0, &dump->Section("platform_info"),
          dump);

  DumpSection& keys = dump->Section("keys");
  keys.Add("signing_key", absl::StrCat(static_cast<int>(report.signing_key)),
           SigningKeyName(report.signing_key));
  keys.Add("author_key", report.author_key_enabled ? "on" : "off");
  keys.Add("mask_chip_key", report.mask_chip_key ? "on" : "off",
           report.mask_chip_key ? "the chip id is masked, the report not signed by its key" : "");

  const sev_snp::Product product = sev_snp::ProductOfCpuid(report.cpuid_family, report.cpuid_model);
  DumpSection& cpu = dump->Section("cpu");
  cpu.Add("family", absl::StrCat(static_cast<int>(report.cpuid_family)));
  cpu.Add("model", absl::StrCat(static_cast<int>(report.cpuid_model)));
  cpu.Add("stepping", absl::StrCat(static_cast<int>(report.cpuid_stepping)));
  cpu.Add(
      "product",
      product == v1::SNP_PRODUCT_UNSPECIFIED ? "unknown" : std::string(sev_snp::AmdName(product)),
      report.version < 3 ? "reports of version 2 do not say" : "");

  DumpSection& tcb = dump->Section("tcb");
  AddTcb("reported", report.reported_tcb, product, &tcb);
  AddTcb("committed", report.committed_tcb, product, &tcb);
  AddTcb("current", report.current_tcb, product, &tcb);
  AddTcb("launch", report.launch_tcb, product, &tcb);
  tcb.Add("current_firmware", report.current.ToString());
  tcb.Add("committed_firmware", report.committed.ToString());
  if (report.version >= 5) {
    tcb.Add("launch_mitigations", Hex(report.launch_mitigations));
    tcb.Add("current_mitigations", Hex(report.current_mitigations));
  }
}

}  // namespace

void ShowSnp(std::string_view bytes, Dump* dump) {
  const absl::StatusOr<Report> report = sev_snp::ParseReport(bytes);
  if (!report.ok()) return dump->Malformed(report.status());
  ShowReport(*report, dump);
  ShowPlatform(*report, dump);
  DumpSection& signature = dump->Section("signature");
  const std::string_view raw = bytes.substr(sev_snp::kSignedSize);
  const std::string_view r = raw.substr(0, sev_snp::kSignaturePartSize);
  const std::string_view s = raw.substr(sev_snp::kSignaturePartSize, sev_snp::kSignaturePartSize);
  signature.Add("r", BigEndian(r), IsZero(r) ? "zero" : "");
  signature.Add("s", BigEndian(s), IsZero(s) ? "zero" : "");
  for (const std::string& unknown : report->unknown) {
    dump->problems.push_back(absl::StrCat("not known here: ", unknown));
  }
  if (!report->trailer_is_zero) {
    dump->problems.push_back("the bytes after the signature are not zero, and not signed");
  }
}

}  // namespace caravan::attestation::show
