// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's root keys, pinned by SHA-256 over the SubjectPublicKeyInfo: a second certificate for the
// same key is as good, another key under the same name is not. Source: verifier_device_root.pem and
// verifier_RIM_root.pem of NVIDIA/nvtrust and NVIDIA/attestation-sdk.
#ifndef CARAVAN_ATTESTATION_POLICY_NVIDIA_ROOTS_H_
#define CARAVAN_ATTESTATION_POLICY_NVIDIA_ROOTS_H_

#include <string_view>

namespace caravan::attestation {

// "NVIDIA Device Identity CA": GPUs and switches.
inline constexpr std::string_view kNvidiaDeviceRootSpkiSha256 =
    "a90c4eb5acfd3e3d03a25db6a26b84f720ad0503196c627c21ddd48dd85b06a4";

// "NVIDIA CoRIM signing Root CA": reference values of GPUs and switches.
inline constexpr std::string_view kNvidiaRimRootSpkiSha256 =
    "dec1dc316477aa851eebdf51327ae9f864bc8d89254657ed1e7eb9168af1e1a3";

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_NVIDIA_ROOTS_H_
