// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/certificate_pool.h"

#include <openssl/asn1.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/pem.h"

namespace caravan::attestation::intel {
namespace {

constexpr std::string_view kFormWhat = "certificates are well formed";

absl::StatusOr<std::vector<std::string>> SplitDer(std::string_view data) {
  const ClearErrors clear;
  std::vector<std::string> certificates;
  const auto* at = reinterpret_cast<const unsigned char*>(data.data());
  const auto* const end = at + data.size();
  while (at != end) {
    const auto* const begin = at;
    long length = 0;
    int tag = 0, tag_class = 0;
    const int read = ASN1_get_object(&at, &length, &tag, &tag_class, end - at);
    if ((read & 0x80) != 0 || tag != V_ASN1_SEQUENCE || length < 0 || length > end - at) {
      return absl::InvalidArgumentError("certification data is neither pem nor der");
    }
    at += length;
    certificates.emplace_back(reinterpret_cast<const char*>(begin),
                              static_cast<size_t>(at - begin));
    if (certificates.size() > kMaxCertificates) {
      return absl::InvalidArgumentError(
          absl::StrCat("certification data holds over ", kMaxCertificates, " certificates"));
    }
  }
  return certificates;
}

class Collector {
 public:
  explicit Collector(Findings* findings) : findings_(*findings) {}

  void Add(const std::string& der, const std::string& where, bool from_peer) {
    absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
    if (certificate.ok()) {
      pool_.push_back(*std::move(certificate));
      return;
    }
    const std::string detail = absl::StrCat(where, ": ", certificate.status().message());
    if (from_peer) {
      findings_.Fail("CERTIFICATE_FORM", kFormWhat, detail);
    } else {
      findings_.Warn("CERTIFICATE_FORM", kFormWhat, detail, "remove or replace it");
    }
  }

  std::vector<Certificate> Take() { return std::move(pool_); }

 private:
  Findings& findings_;
  std::vector<Certificate> pool_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCertificationChain(std::string_view data) {
  while (!data.empty() && data.back() == '\0') data.remove_suffix(1);
  if (data.find("-----BEGIN ") == std::string_view::npos) return SplitDer(data);
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(data, kMaxCertificates);
  if (!blocks.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("certification data: ", blocks.status().message()));
  }
  std::vector<std::string> certificates;
  for (PemBlock& block : *blocks) {
    if (block.type != "CERTIFICATE") {
      return absl::InvalidArgumentError("certification data holds something besides certificates");
    }
    certificates.push_back(std::move(block.bytes));
  }
  return certificates;
}

std::vector<Certificate> CollectCertificates(const Quote& quote, const Evidence& evidence,
                                             const Endorsements& endorsements, Findings* findings) {
  Collector collector(findings);
  if (quote.certification_type == kPckCertChain) {
    absl::StatusOr<std::vector<std::string>> chain =
        ReadCertificationChain(quote.certification_data);
    if (!chain.ok()) {
      findings->Fail("CERTIFICATE_FORM", kFormWhat, std::string(chain.status().message()));
    } else {
      for (size_t i = 0; i < chain->size(); ++i) {
        collector.Add((*chain)[i], absl::StrCat("certificate ", i, " of the quote"), true);
      }
    }
  }
  if (evidence.certificates.size() > kMaxCertificates) {
    findings->Fail("CERTIFICATE_FORM", kFormWhat,
                   absl::StrCat(evidence.certificates.size(),
                                " certificates in the evidence, at most ", kMaxCertificates));
  }
  for (size_t i = 0; i < evidence.certificates.size() && i < kMaxCertificates; ++i) {
    collector.Add(evidence.certificates[i], absl::StrCat("certificate ", i, " of the evidence"),
                  true);
  }
  for (size_t i = 0; i < endorsements.certificates.size(); ++i) {
    collector.Add(endorsements.certificates[i], absl::StrCat("endorsement certificate ", i), false);
  }
  return collector.Take();
}

}  // namespace caravan::attestation::intel
