// SPDX-License-Identifier: Apache-2.0
//
// A cluster's insecure root: AMD's ARK and ASK, Intel's root, CA and TCB signer, and their
// revocation lists, of the real shape, with keys that anybody who holds the file can use. It proves
// nothing about any machine; every name in its chains begins with "insecure", and verifiers refuse
// it unless their policy pins it. Intel's curve is not AMD's: there are two keys to pin, one a
// maker. The stand-ins of NVIDIA's devices share AMD's.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/evidence.h"
#include "attestation/insecure_software/intel_issuer.h"
#include "attestation/sev_snp/tcb.h"
#include "attestation/x509.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation {

// The files of a root's folder, as `caravanctl insecure-root create` writes them.
inline constexpr char kInsecureKeyFile[] = "root.key";     // mode 0600: every key
inline constexpr char kInsecureChainFile[] = "chain.pem";  // ASK, ARK; PCK CA, root, TCB signer
inline constexpr char kInsecureCrlFile[] = "crl.pem";      // of the ARK; of PCK CA and root
// Intel's signed JSON: for tools, as nodes sign it themselves.
inline constexpr char kInsecureTcbInfoFile[] = "tcb_info.json";
inline constexpr char kInsecureQeIdentityFile[] = "qe_identity.json";

struct InsecureRootPem {
  crypto::SecretBytes key;
  std::string chain;
  std::string crl;
};

// Immutable after creation; const calls may come from several threads.
class InsecureRoot {
 public:
  // A new root of `product`, valid for ten years from a day before `now`. Internal when OpenSSL
  // fails.
  static absl::StatusOr<InsecureRoot> Create(absl::Time now, v1::SnpProduct product = v1::MILAN);
  // InvalidArgument naming the part that is malformed, or the key that is not its certificate's.
  // Files of AMD's part alone are taken: intel() is null then.
  static absl::StatusOr<InsecureRoot> FromPem(absl::Span<const uint8_t> key, std::string_view chain,
                                              std::string_view crl);
  absl::StatusOr<InsecureRootPem> ToPem() const;

  // What a policy pins, in insecure_root_spki_sha256.
  crypto::Sha256Digest SpkiSha256() const { return ark_.SpkiSha256(); }
  v1::SnpProduct product() const { return product_; }
  // DER: ASK, ARK.
  std::vector<std::string> ChainDer() const { return {ask_.der(), ark_.der()}; }
  const std::string& CrlDer() const { return crl_; }
  EVP_PKEY* ark_key() const { return ark_key_.get(); }  // borrowed
  const insecure_software::IntelIssuer* intel() const {
    return intel_.has_value() ? &*intel_ : nullptr;
  }
  // Every certificate, list and document that a verifier of this cluster's evidence needs.
  absl::StatusOr<Endorsements> MakeEndorsements(absl::Time now) const;

  struct IssuedKey {
    EvpPkeyPtr key;
    std::string certificate;  // DER
  };
  // A fresh VCEK of this root for a chip (`hwid`: 64 bytes, Turin 8) at a TCB.
  absl::StatusOr<IssuedKey> IssueVcek(std::string_view hwid, const sev_snp::Tcb& tcb,
                                      absl::Time now) const;

 private:
  InsecureRoot(Certificate ark, Certificate ask, std::string crl, EvpPkeyPtr ark_key,
               EvpPkeyPtr ask_key, v1::SnpProduct product,
               std::optional<insecure_software::IntelIssuer> intel);

  Certificate ark_;
  Certificate ask_;
  std::string crl_;
  EvpPkeyPtr ark_key_;
  EvpPkeyPtr ask_key_;
  v1::SnpProduct product_;
  std::optional<insecure_software::IntelIssuer> intel_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_
