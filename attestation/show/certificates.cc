// SPDX-License-Identifier: Apache-2.0
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/intel/pck.h"
#include "attestation/sev_snp/leaf.h"
#include "attestation/show/parts.h"
#include "attestation/x509.h"

namespace caravan::attestation::show {
namespace {

constexpr size_t kMaxText = 512;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

// What `print` writes; "" when OpenSSL cannot.
template <typename Print>
std::string Printed(Print print) {
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || print(bio.get()) < 0) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return size <= 0 ? "" : std::string(text, std::min<size_t>(size, kMaxText));
}

std::string NameText(const X509_NAME* name) {
  return Printed([&](BIO* bio) { return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253); });
}

std::string TimeText(const ASN1_TIME* time) {
  return Printed([&](BIO* bio) { return ASN1_TIME_print(bio, time); });
}

void AddLeaf(const Certificate& certificate, DumpSection* section, Dump* dump) {
  const absl::StatusOr<sev_snp::Leaf> leaf = sev_snp::ParseLeaf(certificate);
  if (!leaf.ok()) return dump->Malformed(leaf.status());
  section->Add("key", leaf->kind == sev_snp::SigningKey::kVlek ? "vlek" : "vcek");
  section->Add("product", leaf->product_name);
  section->Add("tcb", sev_snp::Describe(leaf->tcb, leaf->product));
  if (!leaf->hwid.empty()) section->Add("hwid", Hex(leaf->hwid));
  if (!leaf->csp_id.empty()) section->Add("csp_id", leaf->csp_id);
}

void AddPck(const Certificate& certificate, DumpSection* section, Dump* dump) {
  const absl::StatusOr<intel::Pck> pck = intel::ParsePck(certificate);
  if (!pck.ok()) return dump->Malformed(pck.status());
  section->Add("key", "pck");
  section->Add("ppid", Hex(pck->ppid));
  section->Add("fmspc", Hex(pck->fmspc));
  section->Add("pce_id", Hex(pck->pce_id));
  section->Add("pce_svn", absl::StrCat(pck->pce_svn));
  section->Add("sgx_tcb_svns", HexOf(pck->sgx_svns));
  section->Add("cpu_svn", Hex(pck->cpu_svn));
  section->Add("sgx_type", std::string(intel::Name(pck->sgx_type)));
  if (pck->platform_instance_id.has_value()) {
    section->Add("platform_instance_id", Hex(*pck->platform_instance_id));
  }
  const auto flag = [&](const char* name, const std::optional<bool>& value) {
    if (value.has_value()) section->Add(name, *value ? "yes" : "no");
  };
  flag("dynamic_platform", pck->dynamic_platform);
  flag("cached_keys", pck->cached_keys);
  flag("smt_enabled", pck->smt_enabled);
}

}  // namespace

void ShowCertificates(absl::Span<const std::string> der, Dump* dump) {
  for (size_t i = 0; i < der.size(); ++i) {
    const std::string title = absl::StrCat("certificate_", i + 1);
    const absl::StatusOr<Certificate> certificate = Certificate::Parse(der[i]);
    if (!certificate.ok()) {
      dump->Malformed(absl::StrCat(title, ": ", certificate.status().message()));
      continue;
    }
    DumpSection& section = dump->Section(title);
    section.Add("subject", NameText(X509_get_subject_name(certificate->get())));
    section.Add("issuer", NameText(X509_get_issuer_name(certificate->get())),
                certificate->IsSelfIssued() ? "issued by itself" : "");
    section.Add("serial", certificate->SerialHex());
    section.Add("not_before", TimeText(X509_get0_notBefore(certificate->get())));
    section.Add("not_after", TimeText(X509_get0_notAfter(certificate->get())));
    section.Add("spki_sha256", HexOf(certificate->SpkiSha256()));
    if (sev_snp::LooksLikeLeaf(*certificate)) AddLeaf(*certificate, &section, dump);
    if (intel::LooksLikePck(*certificate)) AddPck(*certificate, &section, dump);
  }
}

}  // namespace caravan::attestation::show
