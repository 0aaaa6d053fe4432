// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/insecure_root.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/sev_snp/chain.h"

namespace caravan::attestation {
namespace {

using BioPtr = std::unique_ptr<BIO, OpensslDelete<BIO_free_all>>;

constexpr absl::Duration kLifetime = absl::Hours(24 * 365 * 10);
constexpr absl::Duration kClockSkew = absl::Hours(24);
constexpr uint64_t kArkSerial = 1;
constexpr uint64_t kAskSerial = 2;
constexpr uint64_t kVcekSerial = 3;
constexpr size_t kAmdKeys = 2, kAmdCertificates = 2;  // in front of the others
constexpr size_t kMaxBlocks = 16;                     // of a PEM file

std::string InsecureName(std::string_view role) {
  return std::string(kInsecureNamePrefix).append(role);
}
std::string ArkName(v1::SnpProduct product) {
  return InsecureName("ARK-").append(sev_snp::AmdName(product));
}
std::string AskName(v1::SnpProduct product) {
  return InsecureName("SEV-").append(sev_snp::AmdName(product));
}

absl::Status Failed(const char* what) {
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("openssl: ", what));
}

absl::Status Malformed(const char* what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("insecure root: ", what));
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

// OpenSSL's own would ask the terminal for the passphrase of an encrypted block.
int NoPassphrase(char*, int, int, void*) { return -1; }

BioPtr ReadOnly(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Every block of one kind, in order; what follows the last is left alone.
template <typename T, T* (*kRead)(BIO*, T**, pem_password_cb*, void*)>
std::vector<T*> ReadAll(std::string_view text, size_t max) {
  std::vector<T*> objects;
  const BioPtr bio = ReadOnly(text);
  while (objects.size() < max) {
    T* object = kRead(bio.get(), nullptr, NoPassphrase, nullptr);
    if (object == nullptr) break;
    objects.push_back(object);
  }
  ERR_clear_error();
  return objects;
}

template <typename T, int (*kEncode)(const T*, unsigned char**)>
std::string Der(const T* object) {
  unsigned char* der = nullptr;
  const int size = kEncode(object, &der);
  if (size <= 0) return "";
  const std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

std::vector<EvpPkeyPtr> ReadKeys(std::string_view text) {
  std::vector<EvpPkeyPtr> keys;
  for (EVP_PKEY* key : ReadAll<EVP_PKEY, PEM_read_bio_PrivateKey>(text, kMaxBlocks)) {
    keys.emplace_back(key);
  }
  return keys;
}

std::vector<std::string> ReadCertificates(std::string_view text) {
  std::vector<std::string> certificates;
  for (X509* x509 : ReadAll<X509, PEM_read_bio_X509>(text, kMaxBlocks)) {
    const X509Ptr owned(x509);
    certificates.push_back(Der<X509, i2d_X509>(x509));
  }
  return certificates;
}

std::vector<std::string> ReadCrls(std::string_view text) {
  std::vector<std::string> crls;
  for (X509_CRL* crl : ReadAll<X509_CRL, PEM_read_bio_X509_CRL>(text, kMaxBlocks)) {
    const X509CrlPtr owned(crl);
    crls.push_back(Der<X509_CRL, i2d_X509_CRL>(crl));
  }
  return crls;
}

bool WriteCertificate(BIO* bio, const std::string& der) {
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const X509Ptr x509(d2i_X509(nullptr, &cursor, static_cast<long>(der.size())));
  return x509 != nullptr && PEM_write_bio_X509(bio, x509.get()) == 1;
}

bool WriteCrl(BIO* bio, const std::string& der) {
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const X509CrlPtr list(d2i_X509_CRL(nullptr, &cursor, static_cast<long>(der.size())));
  return list != nullptr && PEM_write_bio_X509_CRL(bio, list.get()) == 1;
}

// What follows the first `from` of `items`.
template <typename T>
std::vector<T> Rest(std::vector<T> items, size_t from) {
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(from));
  return items;
}

}  // namespace

InsecureRoot::InsecureRoot(Certificate ark, Certificate ask, std::string crl, EvpPkeyPtr ark_key,
                           EvpPkeyPtr ask_key, v1::SnpProduct product,
                           std::optional<insecure_software::IntelIssuer> intel)
    : ark_(std::move(ark)),
      ask_(std::move(ask)),
      crl_(std::move(crl)),
      ark_key_(std::move(ark_key)),
      ask_key_(std::move(ask_key)),
      product_(product),
      intel_(std::move(intel)) {}

absl::StatusOr<InsecureRoot> InsecureRoot::Create(absl::Time now, v1::SnpProduct product) {
  absl::StatusOr<EvpPkeyPtr> ark_key = insecure_software::MakeP384Key();
  if (!ark_key.ok()) return ark_key.status();
  absl::StatusOr<EvpPkeyPtr> ask_key = insecure_software::MakeP384Key();
  if (!ask_key.ok()) return ask_key.status();
  insecure_software::CertificateSpec spec{.common_name = ArkName(product),
                                          .issuer_name = ArkName(product),
                                          .subject_key = ark_key->get(),
                                          .issuer_key = ark_key->get(),
                                          .serial = kArkSerial,
                                          .not_before = now - kClockSkew,
                                          .not_after = now + kLifetime,
                                          .is_ca = true};
  absl::StatusOr<std::string> ark = insecure_software::MakeCertificate(spec);
  if (!ark.ok()) return ark.status();
  spec.common_name = AskName(product);
  spec.subject_key = ask_key->get();
  spec.serial = kAskSerial;
  spec.path_length = 0;
  absl::StatusOr<std::string> ask = insecure_software::MakeCertificate(spec);
  if (!ask.ok()) return ask.status();
  absl::StatusOr<std::string> crl = insecure_software::MakeCrl({.issuer_name = ArkName(product),
                                                                .issuer_key = ark_key->get(),
                                                                .this_update = now - kClockSkew,
                                                                .next_update = now + kLifetime});
  if (!crl.ok()) return crl.status();
  absl::StatusOr<Certificate> ark_certificate = Certificate::Parse(*ark);
  if (!ark_certificate.ok()) return ark_certificate.status();
  absl::StatusOr<Certificate> ask_certificate = Certificate::Parse(*ask);
  if (!ask_certificate.ok()) return ask_certificate.status();
  absl::StatusOr<insecure_software::IntelIssuer> intel =
      insecure_software::IntelIssuer::Create(now);
  if (!intel.ok()) return intel.status();
  return InsecureRoot(*std::move(ark_certificate), *std::move(ask_certificate), *std::move(crl),
                      *std::move(ark_key), *std::move(ask_key), product, *std::move(intel));
}

absl::StatusOr<InsecureRoot> InsecureRoot::FromPem(absl::Span<const uint8_t> key,
                                                   std::string_view chain, std::string_view crl) {
  if (key.size() > kMaxCrlSize || chain.size() > kMaxCrlSize || crl.size() > kMaxCrlSize) {
    return Malformed("a file is over 1 MiB");
  }
  std::vector<EvpPkeyPtr> keys = ReadKeys({reinterpret_cast<const char*>(key.data()), key.size()});
  if (keys.size() < kAmdKeys) {
    return Malformed("key file is not private keys, ARK's and ASK's first, in PEM");
  }
  const std::vector<std::string> certificates = ReadCertificates(chain);
  if (certificates.size() < kAmdCertificates) {
    return Malformed("chain is not certificates, ASK and ARK first, in PEM");
  }
  absl::StatusOr<Certificate> ask = Certificate::Parse(certificates[0]);
  if (!ask.ok()) return ask.status();
  absl::StatusOr<Certificate> ark = Certificate::Parse(certificates[1]);
  if (!ark.ok()) return ark.status();
  if (X509_check_private_key(ark->get(), keys[0].get()) != 1 ||
      X509_check_private_key(ask->get(), keys[1].get()) != 1) {
    return Malformed("the keys are not those of the chain's certificates");
  }
  std::vector<std::string> crls = ReadCrls(crl);
  if (crls.empty()) return Malformed("revocation list is not one in PEM");
  std::string crl_der = crls[0];
  EvpPkeyPtr ark_key = std::move(keys[0]), ask_key = std::move(keys[1]);
  std::optional<insecure_software::IntelIssuer> intel;
  if (keys.size() > kAmdKeys || certificates.size() > kAmdCertificates) {
    absl::StatusOr<insecure_software::IntelIssuer> issuer =
        insecure_software::IntelIssuer::FromParts(Rest(std::move(keys), kAmdKeys),
                                                  Rest(certificates, kAmdCertificates),
                                                  Rest(std::move(crls), 1));
    if (!issuer.ok()) return issuer.status();
    intel = *std::move(issuer);
  }
  for (v1::SnpProduct product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    if (ark->SubjectCommonName() != ArkName(product) ||
        ask->SubjectCommonName() != AskName(product)) {
      continue;
    }
    return InsecureRoot(*std::move(ark), *std::move(ask), std::move(crl_der), std::move(ark_key),
                        std::move(ask_key), product, std::move(intel));
  }
  return Malformed("the chain's names are not an insecure ARK's and ASK's");
}

absl::StatusOr<InsecureRootPem> InsecureRoot::ToPem() const {
  const BioPtr keys(BIO_new(BIO_s_secmem()));
  const BioPtr chain(BIO_new(BIO_s_mem()));
  const BioPtr crl(BIO_new(BIO_s_mem()));
  if (keys == nullptr || chain == nullptr || crl == nullptr) return Failed("out of memory");
  std::vector<EVP_PKEY*> all = {ark_key_.get(), ask_key_.get()};
  std::vector<std::string> certificates = ChainDer(), crls = {crl_};
  if (intel_.has_value()) {
    const auto append = [](auto from, auto* to) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(intel_->keys(), &all);
    append(intel_->CertificatesDer(), &certificates);
    append(intel_->CrlsDer(), &crls);
  }
  for (EVP_PKEY* key : all) {
    if (PEM_write_bio_PKCS8PrivateKey(keys.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
        1) {
      return Failed("cannot write a private key");
    }
  }
  for (const std::string& der : certificates) {
    if (!WriteCertificate(chain.get(), der)) return Failed("cannot write the chain");
  }
  for (const std::string& der : crls) {
    if (!WriteCrl(crl.get(), der)) return Failed("cannot write the revocation lists");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(keys.get(), &data);
  absl::StatusOr<crypto::SecretBytes> secret = crypto::SecretBytes::Copy(
      {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)});
  if (!secret.ok()) return secret.status();
  return InsecureRootPem{*std::move(secret), Contents(chain.get()), Contents(crl.get())};
}

absl::StatusOr<Endorsements> InsecureRoot::MakeEndorsements(absl::Time now) const {
  Endorsements endorsements;
  endorsements.certificates = ChainDer();
  endorsements.crls = {crl_};
  if (!intel_.has_value()) return endorsements;
  for (std::string& der : intel_->CertificatesDer()) {
    endorsements.certificates.push_back(std::move(der));
  }
  for (const std::string& der : intel_->CrlsDer()) endorsements.crls.push_back(der);
  absl::StatusOr<std::vector<std::string>> documents = intel_->Documents(now);
  if (!documents.ok()) return documents.status();
  endorsements.documents = *std::move(documents);
  return endorsements;
}

absl::StatusOr<InsecureRoot::IssuedKey> InsecureRoot::IssueVcek(std::string_view hwid,
                                                                const sev_snp::Tcb& tcb,
                                                                absl::Time now) const {
  const size_t wanted = product_ == v1::TURIN ? 8 : 64;
  if (hwid.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("insecure root: hwid of ", hwid.size(), " bytes, expected ", wanted));
  }
  absl::StatusOr<EvpPkeyPtr> key = insecure_software::MakeP384Key();
  if (!key.ok()) return key.status();
  std::string product_name(sev_snp::AmdName(product_));
  if (product_ == v1::MILAN) product_name.append("-B0");
  absl::StatusOr<std::string> certificate = insecure_software::MakeCertificate(
      {.common_name = InsecureName("SEV-VCEK"),
       .issuer_name = AskName(product_),
       .subject_key = key->get(),
       .issuer_key = ask_key_.get(),
       .serial = kVcekSerial,
       .not_before = now - kClockSkew,
       .not_after = now + kLifetime,
       .extensions = insecure_software::LeafExtensions({.product_name = product_name,
                                                        .product = product_,
                                                        .tcb = tcb,
                                                        .hwid = std::string(hwid)})});
  if (!certificate.ok()) return certificate.status();
  return IssuedKey{*std::move(key), *std::move(certificate)};
}

}  // namespace caravan::attestation
