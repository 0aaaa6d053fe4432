// SPDX-License-Identifier: Apache-2.0
//
// A cluster's insecure root: an ARK, an ASK and a revocation list of the real shape, with keys that
// anybody who holds the file can use. It proves nothing about any machine; every name in its chain
// begins with "insecure", and verifiers refuse it unless their policy pins it.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/sev_snp/tcb.h"
#include "attestation/x509.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation {

// The files of a root's folder, as `caravanctl insecure-root create` writes them.
inline constexpr char kInsecureKeyFile[] = "root.key";     // mode 0600: ARK's and ASK's keys
inline constexpr char kInsecureChainFile[] = "chain.pem";  // ASK, then ARK
inline constexpr char kInsecureCrlFile[] = "crl.pem";

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
  static absl::StatusOr<InsecureRoot> FromPem(absl::Span<const uint8_t> key, std::string_view chain,
                                              std::string_view crl);
  absl::StatusOr<InsecureRootPem> ToPem() const;

  // What a policy pins, in insecure_root_spki_sha256.
  crypto::Sha256Digest SpkiSha256() const { return ark_.SpkiSha256(); }
  v1::SnpProduct product() const { return product_; }
  // DER: ASK, ARK.
  std::vector<std::string> ChainDer() const { return {ask_.der(), ark_.der()}; }
  const std::string& CrlDer() const { return crl_; }

  struct IssuedKey {
    EvpPkeyPtr key;
    std::string certificate;  // DER
  };
  // A fresh VCEK of this root for a chip (`hwid`: 64 bytes, Turin 8) at a TCB.
  absl::StatusOr<IssuedKey> IssueVcek(std::string_view hwid, const sev_snp::Tcb& tcb,
                                      absl::Time now) const;

 private:
  InsecureRoot(Certificate ark, Certificate ask, std::string crl, EvpPkeyPtr ark_key,
               EvpPkeyPtr ask_key, v1::SnpProduct product);

  Certificate ark_;
  Certificate ask_;
  std::string crl_;
  EvpPkeyPtr ark_key_;
  EvpPkeyPtr ask_key_;
  v1::SnpProduct product_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ROOT_H_
