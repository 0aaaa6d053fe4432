// SPDX-License-Identifier: Apache-2.0
//
// GPUs and NVSwitches of one machine as one set: no device twice, as many as the policy says, all
// GPUs in one mode, and none absent that another is linked to.
#ifndef CARAVAN_ATTESTATION_NVIDIA_SET_H_
#define CARAVAN_ATTESTATION_NVIDIA_SET_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/policy/policy.h"
#include "crypto/hash.h"

namespace caravan::attestation::nvidia {

struct SetMember {
  std::string label;  // "gpu 3"
  DeviceClass device_class = DeviceClass::kGpu;
  crypto::Sha256Digest key{};  // SHA-256 of the leaf's SubjectPublicKeyInfo
  std::optional<Pdi> pdi;      // nothing when neither report nor certificates name it
  std::string nonce;
  DeviceInfo info;
};

// `nonce_compared`: each member's nonce was held against what was expected of it. Where it was not,
// members with different nonces warn.
void CheckSet(absl::Span<const SetMember> members, const v1::NvidiaPolicy& policy,
              bool nonce_compared, CheckList* checks);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_SET_H_
