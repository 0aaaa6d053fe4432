// SPDX-License-Identifier: Apache-2.0
//
// Makes signed manifests in NVIDIA's format, right or wrong as the caller says.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_RIM_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_RIM_H_

#include <openssl/evp.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/nvidia/rim.h"

namespace caravan::attestation::insecure_software {

// Names, keys and serial numbers of a manifest's chain as NVIDIA gives them, behind "insecure ".
struct RimChain {
  EvpPkeyPtr root_key, product_key, signing_key, leaf_key;
  CertificateSpec root, product, signing, leaf;  // of the keys above, which they borrow
};
// Valid from a day before `now` to a day after.
absl::StatusOr<RimChain> MakeRimChain(const std::string& product, absl::Time now);

// DER of leaf, signing CA, product CA and root, as the specifications stand now.
absl::StatusOr<std::vector<std::string>> MakeCertificates(const RimChain& chain);

// The document before it is signed, with kRimDigest and kRimSignature where values will stand.
// Callers may change it before SignRim().
inline constexpr char kRimDigest[] = "QERJR0VTVEA=";
inline constexpr char kRimSignature[] = "QFNJR05BVFVSRUA=";
std::string RimText(const nvidia::Rim& rim, const std::vector<std::string>& certificates);

// Fills in the digest, unless the text has none to fill in, and signs.
absl::StatusOr<std::string> SignRim(std::string text, EVP_PKEY* key);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_RIM_H_
