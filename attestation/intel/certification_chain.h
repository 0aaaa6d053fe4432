// SPDX-License-Identifier: Apache-2.0
//
// The certificates that a quote carries.
#ifndef CARAVAN_ATTESTATION_INTEL_CERTIFICATION_CHAIN_H_
#define CARAVAN_ATTESTATION_INTEL_CERTIFICATION_CHAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::attestation::intel {

// The DER certificates of certification data of type 5: PEM, or DER one after the other, with any
// zero bytes at the end. InvalidArgument when it is neither, or over kMaxCertificates.
absl::StatusOr<std::vector<std::string>> ReadCertificationChain(std::string_view data);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_CERTIFICATION_CHAIN_H_
