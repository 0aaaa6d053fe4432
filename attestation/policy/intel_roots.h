// SPDX-License-Identifier: Apache-2.0
//
// Intel's root key for SGX and TDX, pinned by SHA-256 over the SubjectPublicKeyInfo: a second
// certificate for the same key is as good, another key under the same name is not. Source: "Intel
// SGX Root CA", https://certificates.trustedservices.intel.com/IntelSGXRootCA.der.
#ifndef CARAVAN_ATTESTATION_POLICY_INTEL_ROOTS_H_
#define CARAVAN_ATTESTATION_POLICY_INTEL_ROOTS_H_

#include <string_view>

namespace caravan::attestation {

inline constexpr std::string_view kIntelRootSpkiSha256 =
    "a0af031289f5d5d4132f9186068a7fc13628633ba235777472e29b6b6c67a49e";

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_INTEL_ROOTS_H_
