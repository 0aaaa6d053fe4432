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

absl::StatusOr<Certificate> ReadCertificate(BIO* bio) {
  X509Ptr x509(PEM_read_bio_X509(bio, nullptr, NoPassphrase, nullptr));
  unsigned char* der = nullptr;
  const int size = x509 == nullptr ? -1 : i2d_X509(x509.get(), &der);
  if (size <= 0) return Malformed("chain is not two certificates, ASK and ARK, in PEM");
  const std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return Certificate::Parse(bytes);
}

}  // namespace

InsecureRoot::InsecureRoot(Certificate ark, Certificate ask, std::string crl, EvpPkeyPtr ark_key,
                           EvpPkeyPtr ask_key, v1::SnpProduct product)
    : ark_(std::move(ark)),
      ask_(std::move(ask)),
      crl_(std::move(crl)),
      ark_key_(std::move(ark_key)),
      ask_key_(std::move(ask_key)),
      product_(product) {}

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
  return InsecureRoot(*std::move(ark_certificate), *std::move(ask_certificate), *std::move(crl),
                      *std::move(ark_key), *std::move(ask_key), product);
}

absl::StatusOr<InsecureRoot> InsecureRoot::FromPem(absl::Span<const uint8_t> key,
                                                   std::string_view chain, std::string_view crl) {
  if (key.size() > kMaxCrlSize || chain.size() > kMaxCrlSize || crl.size() > kMaxCrlSize) {
    return Malformed("a file is over 1 MiB");
  }
  const BioPtr keys =
      ReadOnly(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
  EvpPkeyPtr ark_key(PEM_read_bio_PrivateKey(keys.get(), nullptr, NoPassphrase, nullptr));
  EvpPkeyPtr ask_key(PEM_read_bio_PrivateKey(keys.get(), nullptr, NoPassphrase, nullptr));
  if (ark_key == nullptr || ask_key == nullptr) {
    return Malformed("key file is not two private keys, ARK's and ASK's, in PEM");
  }
  const BioPtr certificates = ReadOnly(chain);
  absl::StatusOr<Certificate> ask = ReadCertificate(certificates.get());
  if (!ask.ok()) return ask.status();
  absl::StatusOr<Certificate> ark = ReadCertificate(certificates.get());
  if (!ark.ok()) return ark.status();
  if (X509_check_private_key(ark->get(), ark_key.get()) != 1 ||
      X509_check_private_key(ask->get(), ask_key.get()) != 1) {
    return Malformed("the keys are not those of the chain's certificates");
  }
  const BioPtr lists = ReadOnly(crl);
  X509CrlPtr list(PEM_read_bio_X509_CRL(lists.get(), nullptr, NoPassphrase, nullptr));
  unsigned char* der = nullptr;
  const int size = list == nullptr ? -1 : i2d_X509_CRL(list.get(), &der);
  if (size <= 0) return Malformed("revocation list is not one in PEM");
  std::string crl_der(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  for (v1::SnpProduct product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    if (ark->SubjectCommonName() != ArkName(product) ||
        ask->SubjectCommonName() != AskName(product)) {
      continue;
    }
    return InsecureRoot(*std::move(ark), *std::move(ask), std::move(crl_der), std::move(ark_key),
                        std::move(ask_key), product);
  }
  return Malformed("the chain's names are not an insecure ARK's and ASK's");
}

absl::StatusOr<InsecureRootPem> InsecureRoot::ToPem() const {
  const BioPtr keys(BIO_new(BIO_s_secmem()));
  const BioPtr chain(BIO_new(BIO_s_mem()));
  const BioPtr crl(BIO_new(BIO_s_mem()));
  if (keys == nullptr || chain == nullptr || crl == nullptr) return Failed("out of memory");
  for (EVP_PKEY* key : {ark_key_.get(), ask_key_.get()}) {
    if (PEM_write_bio_PKCS8PrivateKey(keys.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
        1) {
      return Failed("cannot write a private key");
    }
  }
  const auto* cursor = reinterpret_cast<const unsigned char*>(crl_.data());
  const X509CrlPtr list(d2i_X509_CRL(nullptr, &cursor, static_cast<long>(crl_.size())));
  if (PEM_write_bio_X509(chain.get(), ask_.get()) != 1 ||
      PEM_write_bio_X509(chain.get(), ark_.get()) != 1 || list == nullptr ||
      PEM_write_bio_X509_CRL(crl.get(), list.get()) != 1) {
    return Failed("cannot write the chain");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(keys.get(), &data);
  absl::StatusOr<crypto::SecretBytes> secret = crypto::SecretBytes::Copy(
      {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)});
  if (!secret.ok()) return secret.status();
  return InsecureRootPem{*std::move(secret), Contents(chain.get()), Contents(crl.get())};
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
