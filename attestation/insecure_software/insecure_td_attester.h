// SPDX-License-Identifier: Apache-2.0
//
// An attester that needs no hardware: real-format TDX quotes, by a PCK of the cluster's insecure
// root. Whoever holds that root can sign any measurement.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_TD_ATTESTER_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_TD_ATTESTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "crypto/hash.h"

namespace caravan::attestation {

struct InsecureTdOptions {
  crypto::Sha384Digest measurement{};  // MRTD: SHA-384 of the daemon's executable
  std::array<uint8_t, 16> ppid{};      // DeriveInsecurePpid
  bool td15 = true;                    // version 5 with TD 1.5; else version 4 with TD 1.0
};

// The platform that a node of this name pretends to be.
std::array<uint8_t, 16> DeriveInsecurePpid(std::string_view node_name);

// Issues a PCK certificate and keeps its key in memory. FailedPrecondition when the root has no
// part for Intel; InvalidArgument on a zero PPID.
absl::StatusOr<std::unique_ptr<Attester>> MakeInsecureTdAttester(const InsecureRoot& root,
                                                                 const InsecureTdOptions& options,
                                                                 absl::Time now);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_TD_ATTESTER_H_
