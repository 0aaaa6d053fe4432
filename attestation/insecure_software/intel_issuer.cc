// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/intel_issuer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_collateral.h"
#include "attestation/insecure_software/forge_intel.h"
#include "base/hex.h"

namespace caravan::attestation::insecure_software {
namespace {

constexpr absl::Duration kLifetime = absl::Hours(24 * 365 * 10);
constexpr absl::Duration kClockSkew = absl::Hours(24);
constexpr char kCaName[] = "Intel SGX PCK Platform CA", kRootName[] = "Intel SGX Root CA",
               kSignerName[] = "Intel SGX TCB Signing", kPckName[] = "Intel SGX PCK Certificate";
// What the platform has; the levels below ask for it.
constexpr uint8_t kSgxSvn = 8;
constexpr uint16_t kPceSvn = 11;
constexpr char kLevelDate[] = "2024-11-13";
constexpr size_t kPpidSize = 16;

std::string Insecure(const char* name) { return std::string(kInsecureNamePrefix).append(name); }

PckSpec Platform() {
  PckSpec spec;
  spec.sgx_svns[0] = kSgxSvn;
  spec.pce_svn = kPceSvn;
  return spec;
}

}  // namespace

absl::StatusOr<IntelIssuer> IntelIssuer::Create(absl::Time now) {
  std::vector<EvpPkeyPtr> keys;
  for (size_t i = 0; i < kKeys; ++i) {
    absl::StatusOr<EvpPkeyPtr> key = MakeP256Key();
    if (!key.ok()) return key.status();
    keys.push_back(*std::move(key));
  }
  EVP_PKEY* const ca_key = keys[0].get();
  EVP_PKEY* const root_key = keys[1].get();
  CertificateSpec ca{.common_name = Insecure(kCaName),
                     .issuer_name = Insecure(kRootName),
                     .subject_key = ca_key,
                     .issuer_key = root_key,
                     .serial = 2,
                     .not_before = now - kClockSkew,
                     .not_after = now + kLifetime,
                     .is_ca = true,
                     .path_length = 0,
                     .digest = EVP_sha256()};
  CertificateSpec root = ca;
  root.common_name = Insecure(kRootName);
  root.subject_key = root_key;
  root.serial = 1;
  root.path_length = std::nullopt;
  CertificateSpec signer = ca;
  signer.common_name = Insecure(kSignerName);
  signer.subject_key = keys[2].get();
  signer.serial = 4;
  signer.is_ca = false;
  signer.path_length = std::nullopt;
  std::vector<std::string> certificates;
  for (const CertificateSpec* spec : {&ca, &root, &signer}) {
    absl::StatusOr<std::string> der = MakeCertificate(*spec);
    if (!der.ok()) return der.status();
    certificates.push_back(*std::move(der));
  }
  std::vector<std::string> crls;
  for (const auto& [name, key] : {std::pair(kCaName, ca_key), std::pair(kRootName, root_key)}) {
    absl::StatusOr<std::string> crl = MakeCrl({.issuer_name = Insecure(name),
                                               .issuer_key = key,
                                               .this_update = now - kClockSkew,
                                               .next_update = now + kLifetime,
                                               .digest = EVP_sha256()});
    if (!crl.ok()) return crl.status();
    crls.push_back(*std::move(crl));
  }
  return FromParts(std::move(keys), certificates, std::move(crls));
}

absl::StatusOr<IntelIssuer> IntelIssuer::FromParts(std::vector<EvpPkeyPtr> keys,
                                                   const std::vector<std::string>& certificates,
                                                   std::vector<std::string> crls) {
  if (keys.size() != kKeys || certificates.size() != kCertificates || crls.size() != kCrls) {
    return absl::InvalidArgumentError(
        "insecure root: another number of keys, certificates or lists than its tdx part has");
  }
  std::vector<Certificate> parsed;
  const char* const names[] = {kCaName, kRootName, kSignerName};
  for (size_t i = 0; i < kCertificates; ++i) {
    absl::StatusOr<Certificate> certificate = Certificate::Parse(certificates[i]);
    if (!certificate.ok()) return certificate.status();
    const ClearErrors clear;
    if (certificate->SubjectCommonName() != Insecure(names[i]) ||
        X509_check_private_key(certificate->get(), keys[i].get()) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "insecure root: no certificate of its key for \"", Insecure(names[i]), "\""));
    }
    parsed.push_back(*std::move(certificate));
  }
  for (const std::string& crl : crls) {
    if (absl::StatusOr<Crl> list = Crl::Parse(crl); !list.ok()) return list.status();
  }
  return IntelIssuer(std::move(keys), std::move(parsed), std::move(crls));
}

std::vector<EVP_PKEY*> IntelIssuer::keys() const {
  std::vector<EVP_PKEY*> keys;
  for (const EvpPkeyPtr& key : keys_) keys.push_back(key.get());
  return keys;
}

std::vector<std::string> IntelIssuer::CertificatesDer() const {
  std::vector<std::string> der;
  for (const Certificate& certificate : certificates_) der.push_back(certificate.der());
  return der;
}

absl::StatusOr<IntelIssuer::IssuedKey> IntelIssuer::IssuePck(std::string_view ppid,
                                                             absl::Time now) const {
  if (ppid.size() != kPpidSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("insecure root: ppid of ", ppid.size(), " bytes, expected ", kPpidSize));
  }
  absl::StatusOr<EvpPkeyPtr> key = MakeP256Key();
  if (!key.ok()) return key.status();
  PckSpec spec = Platform();
  spec.ppid = std::string(ppid);
  absl::StatusOr<std::string> certificate =
      MakeCertificate({.common_name = Insecure(kPckName),
                       .issuer_name = Insecure(kCaName),
                       .subject_key = key->get(),
                       .issuer_key = keys_[0].get(),
                       .serial = 3,
                       .not_before = now - kClockSkew,
                       .not_after = now + kLifetime,
                       .extensions = {{intel::kOidSgxExtensions, PckExtension(spec)}},
                       .digest = EVP_sha256()});
  if (!certificate.ok()) return certificate.status();
  IssuedKey issued{*std::move(key), {*std::move(certificate)}};
  issued.chain.push_back(certificates_[0].der());
  issued.chain.push_back(certificates_[1].der());
  return issued;
}

absl::StatusOr<std::vector<std::string>> IntelIssuer::Documents(absl::Time now) const {
  const PckSpec platform = Platform();
  const absl::Time issued = now - kClockSkew, until = now + kLifetime;
  const std::string info =
      TcbInfoBody({.fmspc = base::ToHex(crypto::AsBytes(platform.fmspc)),
                   .pce_id = base::ToHex(crypto::AsBytes(platform.pce_id)),
                   .evaluation_number = kTcbEvaluationNumber,
                   .issue_date = issued,
                   .next_update = until,
                   .levels = {{kSgxSvn, kPceSvn, kTdxSvn, kLevelDate, "UpToDate"}},
                   .module_levels = {{kTdxModuleSvn, kLevelDate, "UpToDate"}}});
  const std::string identity = QeIdentityBody({.evaluation_number = kTcbEvaluationNumber,
                                               .issue_date = issued,
                                               .next_update = until,
                                               .levels = {{kQeSvn, kLevelDate, "UpToDate"}}});
  std::vector<std::string> documents;
  for (const auto& [name, body] :
       {std::pair("tcbInfo", &info), std::pair("enclaveIdentity", &identity)}) {
    absl::StatusOr<std::string> document = SignDocument(name, *body, keys_[2].get());
    if (!document.ok()) return document.status();
    documents.push_back(*std::move(document));
  }
  return documents;
}

}  // namespace caravan::attestation::insecure_software
