// SPDX-License-Identifier: Apache-2.0
//
// The software stand-in that a configuration asks for, out of the files of the cluster's root.
#ifndef CARAVAN_DAEMON_INSECURE_SOFTWARE_H_
#define CARAVAN_DAEMON_INSECURE_SOFTWARE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attestation/evidence.h"
#include "crypto/hash.h"
#include "proto/caravan/v1/config.pb.h"

namespace caravan {

// Adds to `endorsements` what verifies peers of the same cluster. Errors name the file.
absl::StatusOr<std::unique_ptr<attestation::Attester>> LoadInsecureSoftware(
    const v1::Config& config, const crypto::Sha384Digest& measurement, absl::Time now,
    attestation::Endorsements* endorsements);

}  // namespace caravan

#endif  // CARAVAN_DAEMON_INSECURE_SOFTWARE_H_
