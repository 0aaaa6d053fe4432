// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/intel/certification_chain.h"
#include "attestation/intel/quote.h"
#include "attestation/intel/sgx_report.h"
#include "attestation/show/parts.h"
#include "attestation/tdx/td_report.h"

namespace caravan::attestation::show {
namespace {

using intel::Quote;

// TDATTRIBUTES (Intel TDX module ABI).
constexpr Bit kTdBits[] = {
    {0, "debug", "the host can read the TD's memory"},
    {4, "hgs_plus_prof", "profiling of the TD is on"},
    {5, "perf_prof", "profiling of the TD is on"},
    {6, "pmt_prof", "profiling of the TD is on"},
    {27, "lass", "linear address separation is on"},
    {28, "sept_ve_disable", "no exception where a page is missing"},
    {29, "migratable", "the TD may be moved to another machine"},
    {30, "pks", "protection keys for supervisor pages are on"},
    {31, "key_locker", "key locker may be used"},
    {62, "tpa", "a TDX connect provisioning agent"},
    {63, "perfmon", "performance monitoring is on"},
};
// ATTRIBUTES.FLAGS (Intel SDM volume 3D).
constexpr Bit kSgxBits[] = {
    {0, "init", "the enclave is initialised"},
    {1, "debug", "the host can read the enclave's memory"},
    {2, "mode64bit", "64-bit code"},
    {4, "provision_key", "may derive provisioning keys"},
    {5, "einittoken_key", "may derive launch keys"},
    {6, "cet", "control-flow enforcement"},
    {7, "kss", "key separation and sharing"},
    {10, "aex_notify", "is told of interrupts"},
};

const char* CertificationTypeName(uint16_t type) {
  switch (type) {
    case 1:
      return "ppid in clear, cpu svn, pce svn";
    case 2:
    case 3:
      return "ppid encrypted, cpu svn, pce svn";
    case 4:
      return "pck certificate";
    case intel::kPckCertChain:
      return "pck certificate chain";
    case intel::kQeReportCertification:
      return "qe report";
    case 7:
      return "platform manifest";
    default:
      return "no meaning is known here";
  }
}

const char* BodyTypeName(intel::BodyType type) {
  switch (type) {
    case intel::BodyType::kSgx:
      return "SGX enclave";
    case intel::BodyType::kTd10:
      return "TD 1.0";
    case intel::BodyType::kTd15:
      return "TD 1.5";
    case intel::BodyType::kTd15Extended:
      return "TD 1.5, extended";
  }
  return "no meaning is known here";
}

void ShowHeader(const Quote& quote, Dump* dump) {
  DumpSection& header = dump->Section("header");
  header.Add("version", absl::StrCat(quote.version));
  header.Add("attestation_key_type", absl::StrCat(quote.key_type),
             quote.key_type == intel::kEcdsaP256 ? "ECDSA P-256" : "");
  header.Add("tee_type", Hex(quote.tee_type), quote.tee_type == intel::kTeeTdx ? "TDX" : "SGX");
  header.Add("qe_svn", absl::StrCat(quote.qe_svn));
  header.Add("pce_svn", absl::StrCat(quote.pce_svn));
  header.Add("qe_vendor_id", Hex(quote.qe_vendor_id),
             intel::IsIntelVendor(quote.qe_vendor_id) ? "Intel" : "not Intel's");
  AddBytes("user_data", quote.user_data, &header);
  header.Add("body_type", absl::StrCat(static_cast<int>(quote.body_type)),
             BodyTypeName(quote.body_type));
}

void ShowTd(const tdx::TdReport& td, Dump* dump) {
  DumpSection& module = dump->Section("tdx_module");
  module.Add("tee_tcb_svn", HexOf(td.tee_tcb_svn),
             absl::StrCat("module version ", static_cast<int>(td.tee_tcb_svn[1]), ", SVN ",
                          static_cast<int>(td.tee_tcb_svn[0])));
  if (td.tee_tcb_svn2.has_value()) {
    module.Add("tee_tcb_svn2", HexOf(*td.tee_tcb_svn2), "of the module that runs now");
  }
  AddBytes("mr_seam", td.mr_seam, &module);
  AddBytes("mr_signer_seam", td.mr_signer_seam, &module);
  AddBytes("seam_attributes", td.seam_attributes, &module);

  AddBits("the TD's attributes", td.attributes, kTdBits, 0, &dump->Section("td_attributes"), dump);
  DumpSection& body = dump->Section("td");
  body.Add("xfam", Hex(td.xfam));
  AddBytes("mrtd", td.mrtd, &body);
  AddBytes("mr_config_id", td.mr_config_id, &body);
  AddBytes("mr_owner", td.mr_owner, &body);
  AddBytes("mr_owner_config", td.mr_owner_config, &body);
  for (size_t i = 0; i < td.rtmr.size(); ++i) {
    AddBytes(absl::StrCat("rtmr", i), td.rtmr[i], &body);
  }
  AddBytes("report_data", td.report_data, &body);
  if (td.tee_tcb_svn2.has_value()) AddBytes("mr_service_td", td.mr_service_td, &body);
  if (!td.extension.empty()) AddBytes("extension", td.extension, &body);
}

void ShowEnclave(const std::string& title, std::string_view report, Dump* dump) {
  const intel::SgxReport enclave = intel::ViewSgxReport(report);
  AddBits(absl::StrCat(title, "'s attributes"), enclave.flags(), kSgxBits, 0,
          &dump->Section(absl::StrCat(title, "_attributes")), dump);
  DumpSection& section = dump->Section(title);
  section.Add("xfrm", Hex(enclave.xfrm()));
  AddBytes("cpu_svn", enclave.cpu_svn, &section);
  section.Add("misc_select", Hex(intel::SgxReport::Little(enclave.misc_select)));
  AddBytes("mr_enclave", enclave.mr_enclave, &section);
  AddBytes("mr_signer", enclave.mr_signer, &section);
  section.Add("isv_prod_id", absl::StrCat(enclave.isv_prod_id));
  section.Add("isv_svn", absl::StrCat(enclave.isv_svn));
  section.Add("config_svn", absl::StrCat(enclave.config_svn));
  AddBytes("config_id", enclave.config_id, &section);
  AddBytes("report_data", enclave.report_data, &section);
}

void ShowSignature(const Quote& quote, Dump* dump) {
  DumpSection& section = dump->Section("signature");
  AddBytes("signature", quote.signature, &section);
  AddBytes("attestation_key", quote.attestation_key, &section);
  AddBytes("qe_report_signature", quote.qe_report_signature, &section);
  section.Add("qe_auth_data", Hex(quote.qe_auth_data));
  section.Add("certification_type", absl::StrCat(quote.certification_type),
              CertificationTypeName(quote.certification_type));
  section.Add("certification_size", absl::StrCat(quote.certification_data.size()), "bytes");
}

}  // namespace

void ShowQuote(std::string_view bytes, Dump* dump) {
  const absl::StatusOr<Quote> quote = intel::ParseQuote(bytes);
  if (!quote.ok()) return dump->Malformed(quote.status());
  ShowHeader(*quote, dump);
  if (quote->body_type == intel::BodyType::kSgx) {
    ShowEnclave("enclave", quote->body, dump);
  } else {
    ShowTd(tdx::ViewTdReport(quote->body_type, quote->body), dump);
  }
  ShowSignature(*quote, dump);
  ShowEnclave("quoting_enclave", quote->qe_report, dump);
  if (quote->certification_type == intel::kPckCertChain) {
    absl::StatusOr<std::vector<std::string>> chain =
        intel::ReadCertificationChain(quote->certification_data);
    if (chain.ok()) {
      ShowCertificates(*chain, dump);
    } else {
      dump->Malformed(chain.status());
    }
  }
  if (!quote->trailing.empty() && !IsZero(quote->trailing)) {
    dump->problems.push_back(
        absl::StrCat(quote->trailing.size(), " bytes follow the quote, not signed and not zero"));
  }
}

}  // namespace caravan::attestation::show
