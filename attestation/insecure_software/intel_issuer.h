// SPDX-License-Identifier: Apache-2.0
//
// The part of an insecure root that stands for Intel: a root of the real shape with a key on P-256,
// a PCK CA, a TCB signer, and collateral that rates the one platform there is as up to date.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INTEL_ISSUER_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INTEL_ISSUER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/x509.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {

// What the collateral speaks of, and quotes have to show.
inline constexpr uint8_t kTdxModuleSvn = 3, kTdxModuleVersion = 1, kTdxSvn = 5, kQeSvn = 4;
inline constexpr int kTcbEvaluationNumber = 1;

// Immutable; const calls may come from several threads.
class IntelIssuer {
 public:
  static constexpr size_t kKeys = 3, kCertificates = 3, kCrls = 2;

  // Valid for ten years from a day before `now`. Internal when OpenSSL fails.
  static absl::StatusOr<IntelIssuer> Create(absl::Time now);
  // In the order of keys(), CertificatesDer() and CrlsDer(). InvalidArgument when they do not
  // belong together.
  static absl::StatusOr<IntelIssuer> FromParts(std::vector<EvpPkeyPtr> keys,
                                               const std::vector<std::string>& certificates,
                                               std::vector<std::string> crls);

  crypto::Sha256Digest SpkiSha256() const { return certificates_[1].SpkiSha256(); }
  std::vector<EVP_PKEY*> keys() const;               // CA's, root's, signer's; borrowed
  std::vector<std::string> CertificatesDer() const;  // CA, root, signer
  const std::vector<std::string>& CrlsDer() const { return crls_; }  // of the CA, of the root

  struct IssuedKey {
    EvpPkeyPtr key;
    std::vector<std::string> chain;  // DER: PCK, CA, root
  };
  // A fresh PCK certificate for a machine (`ppid`: 16 bytes).
  absl::StatusOr<IssuedKey> IssuePck(std::string_view ppid, absl::Time now) const;
  // TCB info and QE identity, signed, from a day before `now` for ten years.
  absl::StatusOr<std::vector<std::string>> Documents(absl::Time now) const;

 private:
  IntelIssuer(std::vector<EvpPkeyPtr> keys, std::vector<Certificate> certificates,
              std::vector<std::string> crls)
      : keys_(std::move(keys)), certificates_(std::move(certificates)), crls_(std::move(crls)) {}

  std::vector<EvpPkeyPtr> keys_;
  std::vector<Certificate> certificates_;
  std::vector<std::string> crls_;
};

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INTEL_ISSUER_H_
