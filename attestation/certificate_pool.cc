// SPDX-License-Identifier: Apache-2.0
#include "attestation/certificate_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::attestation {
namespace {

constexpr std::string_view kFormWhat = "certificates are well formed";

}  // namespace

CertificatePool::CertificatePool(std::string id, CheckList* checks)
    : id_(absl::StrCat(id, "_CERTIFICATE_FORM")), checks_(*checks) {}

void CertificatePool::Add(const std::string& der, const std::string& where, bool from_peer) {
  // What came with the evidence is often at hand as well.
  const auto same = [&der](const Certificate& other) { return other.der() == der; };
  if (std::any_of(certificates_.begin(), certificates_.end(), same)) return;
  absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
  if (certificate.ok()) {
    certificates_.push_back(*std::move(certificate));
    return;
  }
  std::string detail = absl::StrCat(where, ": ", certificate.status().message());
  if (from_peer) return Refuse(std::move(detail));
  checks_.Warn(id_, kFormWhat, std::move(detail), "remove or replace it");
}

void CertificatePool::AddAll(const Evidence& evidence, const Endorsements& endorsements) {
  for (size_t i = 0; i < evidence.certificates.size() && i < kMaxCertificates; ++i) {
    Add(evidence.certificates[i], absl::StrCat("certificate ", i, " of the evidence"), true);
  }
  if (evidence.certificates.size() > kMaxCertificates) {
    Refuse(absl::StrCat(evidence.certificates.size(), " certificates in the evidence, at most ",
                        kMaxCertificates));
  }
  for (size_t i = 0; i < endorsements.certificates.size(); ++i) {
    Add(endorsements.certificates[i], absl::StrCat("endorsement certificate ", i), false);
  }
}

void CertificatePool::Refuse(std::string detail) {
  checks_.Fail(id_, kFormWhat, std::move(detail));
}

}  // namespace caravan::attestation
